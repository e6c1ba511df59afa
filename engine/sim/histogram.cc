#include "engine/sim/histogram.h"

#include <cmath>

namespace kantha::sim {
namespace {

const double kWidth = std::log(1.01);

}  // namespace

void Histogram::add(double value, double weight) {
  std::size_t bucket = 0;
  if (value >= smallest_) {
    bucket = 1 + static_cast<std::size_t>(std::log(value / smallest_) / kWidth);
  }
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  buckets_[bucket] += weight;
  weight_ += weight;
  sum_ += value * weight;
}

double Histogram::quantile(double share) const {
  const double wanted = share * weight_;
  double seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (buckets_[i] == 0 || seen < wanted) continue;
    return i == 0 ? 0 : smallest_ * std::exp((static_cast<double>(i) - 0.5) * kWidth);
  }
  return 0;
}

}  // namespace kantha::sim
