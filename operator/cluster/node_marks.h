#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "operator/cluster/guarded_client.h"

/// Which nodes are about to be taken away (operator/serving/node_marks.h), asked of the API server
/// when some of the pods on them are to go, and at no other time: no node is watched. One executor.
///
/// Who may not read nodes is told so once, in the log, and nobody asks again for five minutes; to
/// the planner all nodes then are alike.
namespace kantha::cluster {

inline constexpr kube::Resource kNodes{"", "v1", "nodes", "Node", false};

class NodeMarks {
 public:
  NodeMarks(const Clock& clock, GuardedClient& client) : clock_(clock), client_(client) {}

  /// Those of `nodes` that are marked. At most 64 are looked at; what was seen counts for 5 s.
  net::Task<std::set<std::string>> marked(std::set<std::string> nodes);

 private:
  struct Sight {
    bool is_marked = false;
    TimePoint at{};
  };
  net::Task<void> look(std::string node);
  void note_failure(const std::string& node, const Error& failure);

  const Clock& clock_;
  GuardedClient& client_;
  std::map<std::string, Sight> seen_;
  std::optional<TimePoint> refused_at_;
  bool told_ = false;
};

}  // namespace kantha::cluster
