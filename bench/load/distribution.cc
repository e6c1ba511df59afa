#include "bench/load/distribution.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace kantha::bench {

double quantile(std::span<const double> sorted, double q) {
  CHECK(!sorted.empty(), "a quantile of nothing");
  CHECK(q >= 0 && q <= 1, "a quantile is in [0, 1]");
  const double rank = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

std::optional<Distribution> distribution_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return Distribution{.count = values.size(),
                      .mean = sum / static_cast<double>(values.size()),
                      .min = values.front(),
                      .p50 = quantile(values, 0.50),
                      .p90 = quantile(values, 0.90),
                      .p95 = quantile(values, 0.95),
                      .p99 = quantile(values, 0.99),
                      .max = values.back()};
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

}  // namespace kantha::bench
