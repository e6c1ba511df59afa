#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "noded/api/service_sample.h"
#include "operator/serving/types.h"

/// Compares a ring's pods with pods on the last good revision, over the same time. Pure; any
/// thread. docs/rollouts.md says how often it errs.
///
/// Errors: a one-sided test that may be looked at any time (a mixture likelihood ratio against
/// "at most maxErrorRatio more than the control pods"; by Ville's inequality a good build is ever
/// failed with probability at most 0.5 %). Latencies: the p95 of the ring over the p95 of the
/// control pods, for each size of prompt by itself, averaged by inverse variance; a breach is a
/// ratio above the gate that is also significantly above 1 (4 standard errors, from order
/// statistics). Restarts: two more than the control pods have each. KV storage: a pod of the ring
/// never goes below a quarter more of it than any control pod does, nor, for each request that it
/// has, below three times as much: it keeps what nobody uses.
namespace kantha::serving {

/// What of its KV storage the fullest pod of a side had in use at the least, over the last looks.
struct KvFloor {
  double share = 0;       ///< blocks in use over all
  double share_each = 0;  ///< the same for each request, and one more
  bool operator==(const KvFloor&) const = default;
};

struct Evidence {
  noded::ServiceSample ring;
  noded::ServiceSample control;
  std::int64_t ring_pods = 0;
  std::int64_t control_pods = 0;
  std::int64_t ring_restarts = 0;  ///< of engines, since the bake began
  std::int64_t control_restarts = 0;
  std::optional<KvFloor> ring_kv = {};  ///< nothing before there were enough looks
  std::optional<KvFloor> control_kv = {};
};

enum class VerdictKind : std::uint8_t { kNone, kPass, kFail, kInconclusive };

/// "Pass", "Fail", "Inconclusive"; empty for kNone.
std::string_view verdict_name(VerdictKind kind);

struct Verdict {
  VerdictKind kind = VerdictKind::kNone;
  std::string message;  ///< the numbers, for people
};

/// The verdict on what there is so far. Latencies are not compared where there are no control pods.
Verdict judge(const Evidence& evidence, const RolloutSpec& rollout);

}  // namespace kantha::serving
