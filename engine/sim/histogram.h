#pragma once

#include <cstddef>
#include <vector>

/// A distribution in bounded memory.
namespace kantha::sim {

/// Weighted values ≥ 0 in buckets 1 % wide; values below `smallest` count as 0. A quantile is the
/// middle of its bucket: within 0.5 % of a value that occurred.
class Histogram {
 public:
  explicit Histogram(double smallest = 1e-6) : smallest_(smallest) {}

  void add(double value, double weight = 1);
  /// The least value with at least `share` of the weight at or below it; 0 when empty.
  double quantile(double share) const;
  double mean() const { return weight_ == 0 ? 0 : sum_ / weight_; }
  double weight() const { return weight_; }

 private:
  double smallest_;
  std::vector<double> buckets_;  ///< [0] for values below smallest_
  double weight_ = 0;
  double sum_ = 0;
};

}  // namespace kantha::sim
