#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "operator/cluster/activator_door.h"
#include "operator/cluster/activator_ports.h"
#include "operator/cluster/guarded_client.h"
#include "operator/cluster/world_stores.h"
#include "operator/serving/plan_zero.h"
#include "operator/serving/render_activator_slice.h"

/// Tells the activators of the objects that may have no pods, and reads from them who waits.
///
/// Twice a second, by the leader only, while there is such an object: an activator whose table is
/// not the present one is told it whole, the others are only asked. A request that waits for an
/// object without a pod triggers its pass at once, and so does a change of where the activators
/// are. Losing what is remembered here costs one call an activator. One executor.
namespace kantha::cluster {

class ActivatorFeed {
 public:
  using Trigger = std::function<void(const kube::ObjectKey& serving)>;

  ActivatorFeed(boost::asio::any_io_executor executor, const Clock& clock, ActivatorDoor& door,
                WorldStores& stores, GuardedClient& client, Trigger trigger);

  /// The object was looked at since this process leads; before, nothing is known of its door.
  bool knows(const std::string& uid) const { return routes_told_.contains(uid); }
  /// What a pass needs to know; without is_open.
  serving::ZeroDoor door_of(const std::string& uid) const;
  /// The activators that take the object's requests now.
  serving::ActivatorRoute route_of(const std::string& uid) const;

  net::Task<void> run();
  void stop();

 private:
  struct Known {
    std::optional<noded::ActivatorState> state;
    std::map<std::string, std::size_t> by_id;  ///< where in state.lanes an object is
    TimePoint heard{};                         ///< when it said that
    bool is_asked = false;                     ///< its answer is awaited
  };
  struct Keys {
    std::optional<std::string> text;
    TimePoint read{};
  };
  using Servings = std::vector<std::shared_ptr<const serving::ClusterServing>>;

  Servings sleepers() const;
  net::Task<void> look();
  net::Task<void> find_activators();
  net::Task<void> refresh_keys(Servings objects);
  net::Task<std::optional<std::string>> read_keys(kube::ObjectKey secret);
  std::string table_of(const Servings& objects);
  std::vector<std::string> pods_of_object(const serving::ClusterServing& object) const;
  net::Task<void> ask(std::string address, std::string table, std::string digest,
                      std::shared_ptr<const Servings> objects);
  net::Task<void> exchange(std::string address, std::string table, std::string digest);
  bool wakes(const serving::ClusterServing& object) const;
  void tell_passes(const Servings& objects);
  bool is_heard(const Known& known) const;
  const noded::LaneState* lane_of(const Known& known, const std::string& uid) const;

  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  ActivatorDoor& door_;
  WorldStores& stores_;
  GuardedClient& client_;
  Trigger trigger_;
  ActivatorPorts ports_;
  std::map<std::string, std::int64_t> port_by_uid_;
  std::map<std::string, Known> activators_;  ///< by address
  std::optional<TimePoint> listed_at_;
  std::map<kube::ObjectKey, Keys> keys_;                        ///< by Secret
  std::map<std::string, serving::ActivatorRoute> routes_told_;  ///< by uid, as passes know them
  net::TaskGroup questions_;
  net::Notify wake_;
  bool stopping_ = false;
};

}  // namespace kantha::cluster
