#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "operator/serving/decision.h"
#include "operator/serving/plan.h"
#include "operator/serving/types.h"

/// How many pods: the law of the HorizontalPodAutoscaler for a Pods metric with a target average,
/// for worlds in which no HPA asks us. Plain data over `now`; one thread.
///
/// A pod without a sample (it loads, drains, restarts, or its numbers are stale) is not a pod at
/// zero: going down it counts as if it were exactly at the target, going up as if it were idle, and
/// the direction never turns because of it. So nothing is decided from missing data, and pods on
/// their way are not asked for twice. No sample at all: the count stays.
/// Source: Kubernetes docs "Horizontal Pod Autoscaling" (algorithm details, behavior).
namespace kantha::serving {

/// Samples older than this are none.
inline constexpr Duration kSampleStaleAfter = std::chrono::seconds(30);

/// One pod that counts: it exists, does not end, and has not failed for good.
struct ScalePod {
  std::string name;
  std::optional<double> pressure = {};  ///< nullopt: it loads, drains or restarts
  Duration age{};                       ///< of the pressure
  std::string why_none = {};            ///< for people: "loading"
};

struct ScaleInput {
  std::int64_t current = 0;  ///< as wanted now (spec.replicas)
  AutoscalingSpec spec;
  std::vector<ScalePod> pods;
  /// Not empty: fewer pods are not asked for now, and why ("a rollout is under way").
  std::string holds_down = {};
};

/// Why the count is what it is. Names are words for status and events.
enum class ScaleReason : std::uint8_t {
  kWithinTolerance,
  kPressureAboveTarget,
  kPressureBelowTarget,
  kNoSamples,        ///< nobody has said anything that is fresh
  kMissingSamples,   ///< with those that are missing there is no clear direction
  kStabilizing,      ///< the window still holds a more careful count
  kRateLimited,      ///< the policies allow less at once
  kScalingDisabled,  ///< the direction is Disabled, or the count is 0
  kHeld,             ///< ScaleInput::holds_down
  kTooFewReplicas,   ///< below minReplicas, or below 1 where that is 0
  kTooManyReplicas,  ///< above maxReplicas
};
std::string_view scale_reason_name(ScaleReason reason);

/// What was decided, and each number on the way to it.
struct ScaleVerdict {
  std::int64_t current = 0;
  std::int64_t wanted = 0;
  ScaleReason reason = ScaleReason::kNoSamples;
  double target = 0;
  double tolerance = 0;
  std::int64_t sampled = 0;
  std::int64_t missing = 0;
  double mean = 0;               ///< of the samples
  double mean_with_missing = 0;  ///< with the missing ones as the law counts them
  std::int64_t asked = 0;        ///< by the pressure alone, within min and max
  std::int64_t stabilized = 0;   ///< after the windows
  std::int64_t limited = 0;      ///< after the policies
  std::vector<ScalePod> pods;
  std::string holds_down;
};

/// One object's law with what it remembers: the counts asked for and the changes made within the
/// windows. Losing it (a restart) makes the next window start anew at the count of then: careful.
class ScaleLaw {
 public:
  /// Decides, and remembers the decision as carried out.
  ScaleVerdict decide(const ScaleInput& input, TimePoint now);

 private:
  struct Entry {
    TimePoint at;
    std::int64_t count = 0;
  };
  std::int64_t stabilize(const ScaleInput& input, std::int64_t asked, TimePoint now);
  std::int64_t limit(const ScaleInput& input, std::int64_t wanted, TimePoint now) const;
  void forget(TimePoint now);

  std::deque<Entry> asked_;    ///< counts asked for
  std::deque<Entry> changes_;  ///< pods added (above 0) and taken away
};

/// The figures as lines for people, each pod's first: "kantha explain" prints them.
std::vector<std::string> scale_arithmetic(const ScaleVerdict& verdict);

/// The same in one text for Decision::inputs, the pods last: a text that is too long for status is
/// cut at its end, and must not lose the sum.
std::string scale_inputs(const ScaleVerdict& verdict);

/// The decision for status, where the count changes; nullopt where it does not.
std::optional<Decision> scale_decision(const ScaleVerdict& verdict, WallTime at);

/// ScalingActive while this law runs: False without samples or with the count at 0. Says nothing
/// that changes from look to look.
Condition scaling_condition(const AutoscalingSpec& spec, ScaleReason reason);

}  // namespace kantha::serving
