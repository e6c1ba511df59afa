#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "operator/serving/decision.h"
#include "operator/serving/plan.h"
#include "operator/serving/types.h"

/// Scaling to and from zero, for objects with spec.autoscaling.minReplicas 0: when the last pod
/// goes, and when one comes back. Pure: (memory, input, now) → step. Any thread.
///
/// While there is no pod, somebody else takes the requests and keeps them: the door (in a cluster
/// the activator, in the local world the listening socket). The order leaves no moment in which
/// nobody takes a request: the door opens first and stays open beside the pods until everybody who
/// sends requests has learned of it; only then the last pods go, which drain as ever. On the way
/// back the door stays open until the pods have been there for a while.
/// What is not known is not idle: a pod that does not answer, or has no sample yet, holds the
/// count. Between the steps nothing is kept but two times; losing them only makes it wait longer.
namespace kantha::serving {

/// One pod that exists and is not on its way out.
struct ZeroPod {
  std::string name;
  /// Since its last request ended; zero while there is one; nullopt: not known.
  std::optional<Duration> idle;
};

/// What is known of the door.
struct ZeroDoor {
  bool is_there = false;     ///< somebody is ready to take requests for this object
  bool is_open = false;      ///< and clients' requests are led there, as far as was written
  std::int64_t waiting = 0;  ///< requests in it: held, or passed on and not ended
  /// Since its last request ended; nullopt: not known.
  std::optional<Duration> idle;
};

struct ZeroInput {
  std::int64_t replicas = 0;  ///< as wanted now
  AutoscalingSpec spec;       ///< may_sleep()
  std::vector<ZeroPod> pods;
  std::int64_t available = 0;  ///< pods that take requests
  ZeroDoor door;
  std::string holds = {};  ///< not empty: not to zero now, and why ("a rollout is under way")
};

struct ZeroTimes {
  /// From the moment that the door was opened until everybody who sends requests knows it.
  Duration spread = std::chrono::seconds(3);
  /// From the moment that a pod takes requests until the door is closed.
  Duration settle = std::chrono::seconds(5);
};

/// What is remembered between steps; a fresh one is always careful.
struct ZeroMemory {
  std::optional<TimePoint> awake_since = {};  ///< pods have been available without a break
  std::optional<TimePoint> open_since = {};   ///< the door has been open on the way to zero
};

enum class ZeroReason : std::uint8_t {
  kAsleep,        ///< no pod, and nobody asks
  kRequestsWait,  ///< 0 → 1
  kWaking,        ///< a pod is wanted and none takes requests yet, or has for long
  kBusy,          ///< requests came within idleSeconds
  kUnknown,       ///< a pod, or the door, does not say when it had its last request
  kHeld,          ///< ZeroInput::holds
  kNoDoor,        ///< nobody would take the requests
  kOpening,       ///< idle; the door opens, and not everybody knows yet
  kIdle,          ///< → 0
};
std::string_view zero_reason_name(ZeroReason reason);

struct ZeroStep {
  ZeroReason reason = ZeroReason::kAsleep;
  std::optional<std::int64_t> replicas;  ///< to write
  bool wants_door = false;               ///< requests are to be led there, too
  std::optional<Duration> look_again;    ///< when something may be due without any news
  std::string inputs;                    ///< the figures, for people
  ZeroMemory memory;                     ///< for the next step
};

ZeroStep plan_zero(const ZeroMemory& memory, const ZeroInput& input, TimePoint now,
                   const ZeroTimes& times = {});

/// For status, where the count changes.
std::optional<Decision> zero_decision(const ZeroStep& step, std::int64_t from, WallTime at);

/// ScalingActive as zero has it, over what the law or an HPA says; `otherwise` where it has no say.
/// Holds nothing that changes from look to look.
std::optional<Condition> with_zero(const ZeroStep& step, std::optional<Condition> otherwise);

}  // namespace kantha::serving
