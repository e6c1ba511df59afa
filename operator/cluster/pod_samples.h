#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "operator/cluster/pod_door.h"
#include "operator/cluster/world_stores.h"
#include "operator/metricsapi/metric_table.h"

/// Asks the nodeds for their load once a second, and keeps what they say for the metrics API and
/// for the scale law.
///
/// Questions go out side by side, at most 256 at once, over kept connections; a noded that hangs
/// holds nobody back, and is not asked twice at once. A pod that loads, drains or swaps has no
/// sample; the last figures of one that does not answer age until they count no more. One executor.
namespace kantha::cluster {

struct SampleChoice {
  std::function<bool()> may_ask;  ///< false: nobody is asked now (a standby without metrics API)
  bool everybody = false;         ///< also pods of objects without spec.autoscaling
};

class PodSamples {
 public:
  PodSamples(boost::asio::any_io_executor executor, const Clock& clock, PodDoor& door,
             WorldStores& stores, SampleChoice choice);

  net::Task<void> run();
  void stop();

  const metricsapi::MetricTable& table() const { return table_; }
  std::int64_t asked_count() const { return asked_; }
  std::int64_t failed_count() const { return failed_; }

 private:
  void look();
  void look_at(const std::shared_ptr<const StoredPod>& stored,
               const serving::ClusterServing& owner);
  net::Task<void> ask(std::shared_ptr<const StoredPod> pod, PodAddress address);

  const Clock& clock_;
  PodDoor& door_;
  WorldStores& stores_;
  SampleChoice choice_;
  net::TaskGroup questions_;
  net::Notify wake_;
  metricsapi::MetricTable table_;
  std::set<std::string> under_way_;  ///< uids of pods that have not answered yet
  std::int64_t asked_ = 0;
  std::int64_t failed_ = 0;
  bool stopping_ = false;
};

/// What a noded says, as a sample; nullopt while its engine does not serve as it was told.
std::optional<metricsapi::Sample> sample_of(const noded::PodState& state,
                                            const serving::PodObject& pod, TimePoint now);

}  // namespace kantha::cluster
