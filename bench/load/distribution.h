#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

/// Exact percentiles of all values; no sketches, no buckets. Any thread.
namespace kantha::bench {

/// The q-th quantile, q in [0, 1], of values in rising order (at least one): linear between the two
/// nearest ranks, as numpy's default and thus vLLM's benchmark have it.
double quantile(std::span<const double> sorted, double q);

struct Distribution {
  std::size_t count = 0;
  double mean = 0;
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

/// Nothing when there are no values: an absent figure is not a zero.
std::optional<Distribution> distribution_of(std::vector<double> values);

/// The middle value of at least one.
double median_of(std::vector<double> values);

}  // namespace kantha::bench
