#include "operator/serving/judge.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kantha::serving {
namespace {

constexpr double kQuantile = 0.95;
/// One-sided; the looks of a bake are many and depend on each other (docs/rollouts.md).
constexpr double kStandardErrors = 4;
constexpr double kErrorAlpha = 0.005;
/// Below this a p95 says nothing.
constexpr std::int64_t kLatencyMin = 100;
constexpr double kBucketError = 0.01;
constexpr std::int64_t kRestartsToFail = 2;
constexpr double kKvShareMore = 0.25;
constexpr double kKvShareEachTimes = 3;

/// Logarithm of the value below which the share p lies, interpolated within its bucket.
double log_quantile(const noded::LatencySketch& sketch, double p) {
  const auto count = static_cast<double>(sketch.count());
  const double rank = std::clamp(p * (count + 1) - 0.5, 0.0, count);
  double below = 0;
  double out = 0;
  for (const auto& [bucket, count_in] : sketch.buckets()) {
    const auto mass = static_cast<double>(count_in);
    const double middle = std::log(noded::LatencySketch::value_of(bucket));
    const double width = std::log(noded::LatencySketch::value_of(bucket + 1)) - middle;
    out = middle + (std::min(1.0, (rank - below) / mass) - 0.5) * width;
    if (below + mass >= rank) break;
    below += mass;
  }
  return out;
}

/// Standard error of log_quantile, without assuming a distribution: half the distance of the
/// quantiles that are one standard deviation of the rank away.
double log_error(const noded::LatencySketch& sketch, double p) {
  const double spread = std::sqrt(p * (1 - p) / static_cast<double>(sketch.count()));
  const double half = (log_quantile(sketch, p + spread) - log_quantile(sketch, p - spread)) / 2;
  // A bucket is 5 % wide, and what lies within one is not told apart.
  return std::max(half, kBucketError);
}

/// One latency of the ring against that of the control pods: the ratio of their p95.
struct Comparison {
  bool is_measured = false;
  double ratio = 1;
  double lowest = 1;  ///< the ratio is above this, but for chance

  bool breaches(double gate) const { return is_measured && ratio > gate && lowest > 1; }
  bool exceeds(double gate) const { return is_measured && ratio > gate; }
};

/// Each class that both sides have enough of is compared by itself, so that another mix of requests
/// is no regression; the classes' ratios are averaged by what each is worth (inverse variance).
template <std::size_t kCount>
Comparison compare(const std::array<noded::LatencySketch, kCount>& ring,
                   const std::array<noded::LatencySketch, kCount>& control) {
  double weights = 0;
  double sum = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (ring[i].count() < kLatencyMin || control[i].count() < kLatencyMin) continue;
    const double ratio = log_quantile(ring[i], kQuantile) - log_quantile(control[i], kQuantile);
    const double error =
        std::hypot(log_error(ring[i], kQuantile), log_error(control[i], kQuantile));
    const double weight = 1 / (error * error);
    weights += weight;
    sum += weight * ratio;
  }
  Comparison out;
  if (weights == 0) return out;
  out.is_measured = true;
  out.ratio = std::exp(sum / weights);
  out.lowest = std::exp(sum / weights - kStandardErrors / std::sqrt(weights));
  return out;
}

double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

/// Logarithm of the likelihood of `failed` of `count` under rates above `limit`, mixed evenly over
/// their odds' logarithm, against that under `limit` itself.
double log_evidence_above(double limit, double failed, double count) {
  constexpr int kRates = 64;
  const double from = std::log(limit / (1 - limit));
  const double to = std::log(0.999 / 0.001);
  double out = -1e300;
  for (int i = 0; i < kRates; ++i) {
    const double odds = from + (to - from) * (i + 0.5) / kRates;
    const double rate = 1 / (1 + std::exp(-odds));
    const double log_ratio =
        failed * std::log(rate / limit) + (count - failed) * std::log((1 - rate) / (1 - limit));
    out = log_add(out, log_ratio - std::log(kRates));
  }
  return out;
}

/// The share of failures that the ring may have: what the control pods have, at the upper end of
/// what chance allows (Agresti and Coull, three standard errors), and the gate on top.
double error_limit(const noded::ServiceSample& control, double gate) {
  constexpr double kErrors = 3;
  const auto count = static_cast<double>(control.answered);
  double theirs = 0;
  if (count > 0) {
    const double more = count + kErrors * kErrors;
    const double middle = (static_cast<double>(control.failed) + kErrors * kErrors / 2) / more;
    theirs = middle + kErrors * std::sqrt(middle * (1 - middle) / more);
  }
  return std::clamp(theirs + gate, 1e-4, 0.99);
}

double share(const noded::ServiceSample& sample) {
  if (sample.answered == 0) return 0;
  return static_cast<double>(sample.failed) / static_cast<double>(sample.answered);
}

std::string latency_text(const char* what, const Comparison& seen, double gate) {
  return fmt::format("{} p95 over the control pods': ratio {:.2f}, gate {:.2f}", what, seen.ratio,
                     gate);
}

/// One judgement, gate after gate.
class Judgement {
 public:
  Judgement(const Evidence& evidence, const RolloutSpec& rollout)
      : seen_(evidence),
        rollout_(rollout),
        first_token_(compare(evidence.ring.first_token, evidence.control.first_token)),
        per_token_(compare(evidence.ring.per_token, evidence.control.per_token)) {}

  Verdict take() {
    if (const std::string breach = find_breach(); !breach.empty()) {
      return {VerdictKind::kFail, breach};
    }
    if (const std::string lack = find_lack(); !lack.empty()) {
      return {VerdictKind::kInconclusive, lack};
    }
    return {VerdictKind::kPass, summary()};
  }

 private:
  std::string find_breach() const {
    const double control_each =
        seen_.control_pods == 0
            ? 0
            : static_cast<double>(seen_.control_restarts) / static_cast<double>(seen_.control_pods);
    const double allowed = control_each * static_cast<double>(seen_.ring_pods);
    if (static_cast<double>(seen_.ring_restarts) >= allowed + kRestartsToFail) {
      return fmt::format("{} engine restarts in {} pods of the ring, {} in {} control pods",
                         seen_.ring_restarts, seen_.ring_pods, seen_.control_restarts,
                         seen_.control_pods);
    }
    if (const std::string leak = find_leak(); !leak.empty()) return leak;
    const double limit = error_limit(seen_.control, rollout_.gates.max_error_ratio);
    const double evidence =
        log_evidence_above(limit, static_cast<double>(seen_.ring.failed),
                           static_cast<double>(std::max(seen_.ring.answered, seen_.ring.failed)));
    if (evidence >= -std::log(kErrorAlpha) && share(seen_.ring) > limit) return error_text(limit);
    if (first_token_.breaches(rollout_.gates.max_ttft_p95_ratio)) {
      return latency_text("time to first token", first_token_, rollout_.gates.max_ttft_p95_ratio);
    }
    if (per_token_.breaches(rollout_.gates.max_itl_p95_ratio)) {
      return latency_text("time per token", per_token_, rollout_.gates.max_itl_p95_ratio);
    }
    return {};
  }

  std::string find_leak() const {
    if (!seen_.ring_kv || !seen_.control_kv) return {};
    const KvFloor& ring = *seen_.ring_kv;
    const KvFloor& control = *seen_.control_kv;
    if (ring.share <= control.share + kKvShareMore) return {};
    if (ring.share_each <= control.share_each * kKvShareEachTimes) return {};
    return fmt::format(
        "KV blocks are not given back: {:.0f} % stay in use in a pod of the ring, {:.0f} % on "
        "control pods",
        ring.share * 100, control.share * 100);
  }

  std::string find_lack() const {
    const std::int64_t wanted = rollout_.bake.min_requests;
    if (seen_.ring.answered < wanted) {
      return fmt::format("fewer than {} requests reached the ring", wanted);
    }
    const double limit = error_limit(seen_.control, rollout_.gates.max_error_ratio);
    if (share(seen_.ring) > limit) return error_text(limit) + ", not yet sure";
    if (wanted == 0 || seen_.control_pods == 0) return {};
    if (!first_token_.is_measured && !per_token_.is_measured) {
      return "too few requests with latencies on the ring or on the control pods";
    }
    if (first_token_.exceeds(rollout_.gates.max_ttft_p95_ratio)) {
      return latency_text("time to first token", first_token_, rollout_.gates.max_ttft_p95_ratio) +
             ", not yet sure";
    }
    if (per_token_.exceeds(rollout_.gates.max_itl_p95_ratio)) {
      return latency_text("time per token", per_token_, rollout_.gates.max_itl_p95_ratio) +
             ", not yet sure";
    }
    return {};
  }

  std::string error_text(double limit) const {
    return fmt::format(
        "{} of {} requests failed in the ring, {} of {} on control pods; at most "
        "{:.2f} % may",
        seen_.ring.failed, seen_.ring.answered, seen_.control.failed, seen_.control.answered,
        limit * 100);
  }

  std::string summary() const {
    std::string out = fmt::format(
        "{} requests in the ring, {} failed; {} on control pods, {} failed", seen_.ring.answered,
        seen_.ring.failed, seen_.control.answered, seen_.control.failed);
    if (first_token_.is_measured) {
      out += "; " +
             latency_text("time to first token", first_token_, rollout_.gates.max_ttft_p95_ratio);
    }
    if (per_token_.is_measured) {
      out += "; " + latency_text("time per token", per_token_, rollout_.gates.max_itl_p95_ratio);
    }
    return out;
  }

  const Evidence& seen_;
  const RolloutSpec& rollout_;
  Comparison first_token_;
  Comparison per_token_;
};

}  // namespace

std::string_view verdict_name(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kNone: return "";
    case VerdictKind::kPass: return "Pass";
    case VerdictKind::kFail: return "Fail";
    case VerdictKind::kInconclusive: return "Inconclusive";
  }
  return "?";
}

Verdict judge(const Evidence& evidence, const RolloutSpec& rollout) {
  return Judgement(evidence, rollout).take();
}

}  // namespace kantha::serving
