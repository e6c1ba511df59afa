#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "operator/cluster/pod_door.h"
#include "operator/cluster/world_stores.h"
#include "operator/serving/fleet_plan.h"

/// Tells the nodeds of an object which of its pods may send requests to each other.
///
/// Every pass over an object says which pods are ready; what that changes is pushed to the nodeds,
/// a bounded number at a time, by the leader only, and without a call to the API server but for an
/// object's token. Losing what is remembered here costs one call a pod. One executor.
namespace kantha::cluster {

class FleetFeed {
 public:
  FleetFeed(boost::asio::any_io_executor executor, const Clock& clock, PodDoor& door,
            std::function<bool()> may_tell);

  /// The pods of an object as a pass saw them.
  void observe(const serving::ClusterServing& object,
               const std::vector<std::shared_ptr<const StoredPod>>& pods);
  /// The object is gone.
  void forget(const kube::ObjectKey& key);

  net::Task<void> run();
  void stop();

  std::int64_t told_count() const { return told_; }
  std::int64_t failed_count() const { return failed_; }
  std::size_t receiver_count() const { return plan_.receiver_count(); }

 private:
  net::Task<void> tell(serving::FleetPlan::Message message, PodAddress to);

  const Clock& clock_;
  PodDoor& door_;
  std::function<bool()> may_tell_;
  serving::FleetPlan plan_;
  std::map<std::string, std::map<std::string, PodAddress>> addresses_;  ///< by object, by pod uid
  net::TaskGroup tells_;
  net::Notify wake_;
  std::int64_t told_ = 0;
  std::int64_t failed_ = 0;
  bool stopping_ = false;
};

}  // namespace kantha::cluster
