#pragma once

#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

/// A histogram of durations whose buckets grow by 5 %, so that quantiles are right within 2.5 % of
/// their value and histograms of many pods can be added and subtracted. Plain data; any thread.
namespace kantha::noded {

class LatencySketch {
 public:
  /// Shorter than 10 µs counts as 10 µs, longer than an hour as an hour.
  void add(Duration latency, std::int64_t times = 1);
  void merge(const LatencySketch& other);
  /// What came since `earlier`, a sketch of the same source. A bucket that shrank counts as empty:
  /// then they are not of the same source.
  LatencySketch since(const LatencySketch& earlier) const;

  std::int64_t count() const { return count_; }
  /// Seconds below which the share `p` lies, 0 < p < 1. 0 when empty.
  double quantile(double p) const;

  /// Buckets by index, for weighted sums; value_of gives the middle of one, in seconds.
  const std::map<int, std::int64_t>& buckets() const { return buckets_; }
  static double value_of(int bucket);

  /// [[bucket, count], …], ascending.
  Json to_json() const;
  /// kInvalidArgument: no such list, a negative count, more than 1,024 buckets.
  static Result<LatencySketch> from_json(const Json& json);
  bool operator==(const LatencySketch&) const = default;

 private:
  std::map<int, std::int64_t> buckets_;
  std::int64_t count_ = 0;
};

}  // namespace kantha::noded
