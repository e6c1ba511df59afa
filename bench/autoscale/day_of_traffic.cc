#include "bench/autoscale/day_of_traffic.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace kantha::autoscale {
namespace {

/// Numbers in the order in which they are drawn.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  double unit() { return random_unit(seed_, count_++); }
  double exponential() { return -std::log(1 - unit()); }
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * unit());
  }
  std::int32_t length(double median, double spread, double least, double most) {
    return static_cast<std::int32_t>(std::clamp(median * std::exp(spread * normal()), least, most));
  }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

struct Burst {
  double from_s = 0;
  double to_s = 0;
};

std::vector<Burst> draw_bursts(const DayShape& shape, Draws& draws) {
  std::vector<Burst> out;
  double at = draws.exponential() * shape.length_s / shape.bursts;
  while (at < shape.length_s) {
    out.push_back({at, at + 120 + 360 * draws.unit()});
    at += draws.exponential() * shape.length_s / shape.bursts;
  }
  return out;
}

double rate_at(const DayShape& shape, const std::vector<Burst>& bursts, double at_s) {
  constexpr double kDay = 86'400;
  const double height = (1 - std::cos(2 * std::numbers::pi * at_s / kDay)) / 2;
  const double base = shape.night_per_s + (shape.day_per_s - shape.night_per_s) * height;
  const bool is_burst = std::any_of(bursts.begin(), bursts.end(), [&](const Burst& burst) {
    return burst.from_s <= at_s && at_s < burst.to_s;
  });
  return is_burst ? base * shape.burst_factor : base;
}

}  // namespace

std::vector<Arrival> day_of_traffic(const DayShape& shape) {
  Draws draws(shape.seed);
  const std::vector<Burst> bursts = draw_bursts(shape, draws);
  // Thinning: a process at the highest rate, of which some are kept.
  const double most = std::max(shape.day_per_s, shape.night_per_s) * shape.burst_factor;
  std::vector<Arrival> out;
  for (double at = draws.exponential() / most; at < shape.length_s;
       at += draws.exponential() / most) {
    if (draws.unit() * most >= rate_at(shape, bursts, at)) continue;
    out.push_back({at, draws.length(200, 0.8, 16, 1024), draws.length(120, 0.7, 4, 512)});
  }
  return out;
}

}  // namespace kantha::autoscale
