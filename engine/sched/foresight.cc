#include "engine/sched/foresight.h"

#include <algorithm>
#include <cmath>

namespace kantha::sched {
namespace {

constexpr double kMargin = 1.5;  // standard deviations

}  // namespace

void Foresight::clear() { demand_ = {}; }

/// 0, 8, 12, 16, 24, 32 …
std::int32_t Foresight::tokens_at(std::size_t moment) {
  if (moment == 0) return 0;
  const auto power = static_cast<std::int32_t>((moment - 1) / 2);
  return (moment % 2 == 1 ? 8 : 12) << power;
}

Foresight::Demand Foresight::demand_at(std::size_t moment, const Growth& growth,
                                       const OutputLengths& lengths, RowGrowth row) {
  // One that reaches its limit since the last moment is taken as still there.
  const bool within = moment == 0 || growth.limit > tokens_at(moment - 1);
  const std::int32_t tokens = std::min(tokens_at(moment), growth.limit);
  const double alive = within ? lengths.survival(growth.so_far, tokens) : 0;
  const std::int32_t beyond = std::max(0, tokens - growth.slack);
  const std::int32_t rows = (beyond + row.tokens - 1) / row.tokens;
  const double taken = growth.needed + static_cast<double>(rows) * row.blocks;
  const double both = taken + growth.freed;
  return {.mean = alive * taken - (1 - alive) * growth.freed,
          .variance = alive * (1 - alive) * both * both};
}

void Foresight::add(const Growth& growth, const OutputLengths& lengths, RowGrowth row) {
  for (std::size_t i = 0; i < kMoments; ++i) {
    const Demand demand = demand_at(i, growth, lengths, row);
    demand_[i].mean += demand.mean;
    demand_[i].variance += demand.variance;
  }
}

double Foresight::peak_with(const Growth& growth, const OutputLengths& lengths,
                            RowGrowth row) const {
  double peak = 0;
  for (std::size_t i = 0; i < kMoments; ++i) {
    const Demand demand = demand_at(i, growth, lengths, row);
    const double margin = kMargin * std::sqrt(demand_[i].variance + demand.variance);
    peak = std::max(peak, demand_[i].mean + demand.mean + margin);
  }
  return peak;
}

}  // namespace kantha::sched
