#include "noded/fleet/route_choice.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace kantha::noded {
namespace {

using Candidates = std::vector<RouteCandidate>;

/// What a pod may have, by the fleet's means.
class LoadBound {
 public:
  LoadBound(const Candidates& candidates, const RoutePolicy& policy) {
    std::int64_t running = 1;  // the one that is being placed
    double pressure = 0;
    std::size_t known = 0;
    for (const RouteCandidate& candidate : candidates) {
      running += candidate.running;
      pressure += candidate.pressure.value_or(0);
      known += candidate.pressure ? 1 : 0;
    }
    const double mean = static_cast<double>(running) / static_cast<double>(candidates.size());
    running_max_ = std::max(policy.running_free,
                            static_cast<std::int64_t>(std::ceil(policy.load_factor * mean)));
    if (known > 0) pressure_max_ = pressure / static_cast<double>(known) + policy.pressure_margin;
  }

  bool admits(const RouteCandidate& candidate) const {
    return candidate.running + 1 <= running_max_ &&
           (!pressure_max_ || candidate.pressure.value_or(0) <= *pressure_max_);
  }

 private:
  std::int64_t running_max_ = 0;
  std::optional<double> pressure_max_;
};

std::size_t least_running(const Candidates& candidates) {
  const auto fewer = [](const RouteCandidate& a, const RouteCandidate& b) {
    return a.running < b.running;
  };
  return static_cast<std::size_t>(std::min_element(candidates.begin(), candidates.end(), fewer) -
                                  candidates.begin());
}

double share_of(const RouteCandidate& candidate, const RoutePolicy& policy) {
  if (!candidate.ready_for || *candidate.ready_for >= policy.slow_start) return 1;
  const double grown = std::chrono::duration<double>(*candidate.ready_for) /
                       std::chrono::duration<double>(policy.slow_start);
  return std::max(policy.share_min, grown);
}

/// Random bits as an exponential variate, from 0 on. The smallest of several, each over its weight,
/// is one of them with the chance of its weight.
double place_in_order(std::uint64_t bits) {
  constexpr double kSteps = 9007199254740992.0;  // 2^53
  return -std::log((static_cast<double>(bits >> 11) + 1) / kSteps);
}

/// The first pod in the key's order that the bound admits.
std::size_t by_key(const Candidates& candidates, std::uint64_t key, const RoutePolicy& policy) {
  const LoadBound bound(candidates, policy);
  const bool is_settled =
      std::any_of(candidates.begin(), candidates.end(), [&](const RouteCandidate& one) {
        return one.ready_for && *one.ready_for >= policy.slow_start;
      });
  std::optional<std::size_t> best;
  double best_score = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!bound.admits(candidates[i])) continue;
    const double share = is_settled ? share_of(candidates[i], policy) : 1;
    const double score = place_in_order(random_bits(key, candidates[i].name_bits)) / share;
    if (best && score >= best_score) continue;
    best = i;
    best_score = score;
  }
  return best.value_or(least_running(candidates));
}

bool is_much_better(const RouteCandidate& other, const RouteCandidate& local,
                    const RoutePolicy& policy) {
  if (other.running + policy.local_margin <= local.running) return true;
  const bool known = other.pressure && local.pressure;
  return known && *other.pressure + policy.pressure_margin < *local.pressure;
}

/// This pod or one other; where this pod takes nothing, two others.
std::size_t by_two(const Candidates& candidates, std::uint64_t draw, const RoutePolicy& policy) {
  std::vector<std::size_t> others;
  std::optional<std::size_t> local;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].is_local) {
      local = i;
    } else {
      others.push_back(i);
    }
  }
  if (others.empty()) return *local;
  const std::size_t first = others[draw % others.size()];
  if (local) {
    return is_much_better(candidates[first], candidates[*local], policy) ? first : *local;
  }
  const std::size_t second = others[random_bits(draw, 1) % others.size()];
  return candidates[second].running < candidates[first].running ? second : first;
}

}  // namespace

std::optional<std::size_t> choose_route(const Candidates& candidates,
                                        std::optional<std::uint64_t> key, std::uint64_t draw,
                                        const RoutePolicy& policy) {
  if (candidates.empty()) return std::nullopt;
  if (candidates.size() == 1) return 0;
  return key ? by_key(candidates, *key, policy) : by_two(candidates, draw, policy);
}

}  // namespace kantha::noded
