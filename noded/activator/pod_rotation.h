#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "noded/gateway/forward_target.h"

namespace kantha::noded {

/// The chooser of an activator: the pods of one object, as the operator said last, each in its
/// turn. A pod that did not take a request is left alone for a second, so that a list that is a
/// moment old costs a try and no more. While there is nobody, requests wait: somebody is to be
/// expected as long as the activator knows of the object. One executor.
class PodRotation final : public TargetChooser {
 public:
  /// `name` is the object's, for people.
  PodRotation(boost::asio::any_io_executor executor, std::string name, const Clock& clock)
      : name_(std::move(name)), clock_(clock), changed_(executor) {}

  /// From now on these. Those that are no "HOST:PORT" are left out.
  void set_pods(const std::vector<std::string>& pods);

  TargetChoice choose(const TargetAsk& ask) override;
  bool knows_others() override { return !pods_.empty(); }
  net::Task<void> wait_for_change(Duration timeout) override;
  void began(const ForwardTarget&) override {}
  bool answered(const ForwardTarget&, int, const net::Headers&) override { return true; }
  void ended(const ForwardTarget& target, TargetEnd end) override;
  /// Nothing is known of other pods' engines.
  EngineEnds ends(const ForwardTarget&) const override { return {}; }

 private:
  std::string name_;
  const Clock& clock_;
  net::Notify changed_;
  std::vector<ForwardTarget> pods_;
  std::map<std::string, TimePoint> failed_at_;  ///< by name of a pod
  std::size_t next_ = 0;
};

}  // namespace kantha::noded
