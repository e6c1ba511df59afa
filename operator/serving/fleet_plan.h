#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "noded/api/fleet_view.h"

/// Who is to be told which pods may send requests to each other, and when. Plain data over `now`,
/// the same in both worlds; one thread.
///
/// Told are the pods of one ModelServing that were made alike, when there are two of them or more,
/// of those that are ready, and only when something changed: a pod came, left, became ready, or its
/// noded began anew.
/// Loads are no part of it (the pods tell each other), so that an idle fleet costs one call a pod
/// in five minutes, which mends what got lost.
namespace kantha::serving {

/// A pod whose noded answers.
struct FleetMember {
  std::string id;           ///< unique over all objects: its uid
  noded::FleetPeer peer;    ///< as the others are told
  std::string made_as;      ///< pods of another one are no peers: they may serve another model
  std::string incarnation;  ///< of its noded: another one has forgotten what it was told
  /// One that is not is nobody's peer, and is told of those who are, so that what it accepts
  /// meanwhile does not wait for its own engine.
  bool ready = true;
};

struct FleetPlanPolicy {
  Duration refresh = std::chrono::minutes(5);
  /// A pod is not told more often, so that a rollout of n pods is not n² calls at once.
  Duration pause = std::chrono::seconds(1);
  Duration again_after_failure = std::chrono::seconds(5);
};

class FleetPlan {
 public:
  explicit FleetPlan(FleetPlanPolicy policy = {}) : policy_(policy) {}

  /// The pods of one object, as they are now; none forgets it. True when somebody has to be told.
  bool observe(const std::string& serving, const std::vector<FleetMember>& members);

  struct Message {
    std::string serving;
    std::string id;
    noded::FleetView view;
  };
  /// What is due, at most `count_max`; each must be answered before that pod has a next one.
  std::vector<Message> take_due(TimePoint now, WallTime wall_now, std::size_t count_max);
  void answered(const Message& message, bool ok, TimePoint now);

  /// When to look again; nothing: not before somebody is observed.
  std::optional<Duration> look_after() const;
  std::size_t receiver_count() const;

 private:
  struct Receiver {
    std::vector<noded::FleetPeer> wanted;
    std::vector<noded::FleetPeer> told;
    std::string incarnation;
    TimePoint told_at{};
    TimePoint not_before{};
    std::int64_t observed_at_ms = 0;
    bool under_way = false;
    bool stale = false;  ///< told long ago
    bool is_pending() const { return stale || wanted != told; }
  };
  using Receivers = std::map<std::string, Receiver>;

  void look_for_stale(TimePoint now);

  FleetPlanPolicy policy_;
  std::map<std::string, Receivers> servings_;
  std::set<std::string> pending_;  ///< of those, where somebody may have to be told
  TimePoint look_for_stale_at_{};
};

}  // namespace kantha::serving
