#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "operator/local/pod_facts.h"
#include "operator/serving/plan.h"

/// A world as people and the control API see it. Values; any thread.
namespace kantha::local {

/// PodView::streams where nobody can tell (pods of a cluster, seen from outside).
inline constexpr std::int64_t kUnknownStreams = -1;

struct PodView {
  std::string name;
  std::string phase;
  std::string message;
  std::string revision;       ///< short, as in "r-6c1f…"
  std::int64_t restarts = 0;  ///< of the engine and of noded together
  std::int64_t streams = 0;
  double kv_used = 0;  ///< share of KV blocks in use, 0 to 1
  double tokens_per_second = 0;
  std::int64_t pid = 0;
  bool operator==(const PodView&) const = default;
};

struct ConditionView {
  serving::Condition condition;
  std::string since;  ///< RFC 3339, UTC
  bool operator==(const ConditionView&) const = default;
};

struct WorldView {
  std::string name;
  std::string model;
  std::string endpoint;  ///< "http://127.0.0.1:8000"
  serving::ReplicaCounts counts;
  std::string target_revision;  ///< short
  std::vector<ConditionView> conditions;
  std::vector<PodView> pods;
  std::vector<serving::Decision> decisions = {};  ///< the last ones, oldest first
  /// How the count of pods comes about, as lines; where this world scales by itself.
  std::vector<std::string> scaling = {};
  bool operator==(const WorldView&) const = default;

  /// The status of a condition; kUnknown when there is none of that type.
  serving::ConditionStatus status_of(std::string_view type) const;
  std::string message_of(std::string_view type) const;
  /// It has no pod, and the next request starts one.
  bool is_asleep() const {
    return counts.wanted == 0 && status_of("ScalingActive") == serving::ConditionStatus::kTrue;
  }
};

/// How one pod looks now.
PodView pod_view(const PodFacts& facts, TimePoint now);

/// The object's status, with endpoint and pods.
Json status_json(const WorldView& view, std::int64_t generation);

/// Reads an object with status as the control API gives it.
Result<WorldView> world_view_from_json(const Json& object);

/// "2026-11-29T21:40:00Z"
std::string rfc3339(WallTime time);

}  // namespace kantha::local
