#include "noded/api/latency_sketch.h"

#include <algorithm>
#include <cmath>

namespace kantha::noded {
namespace {

const double kLogGrowth = std::log(1.05);
constexpr double kShortestSeconds = 1e-5;
constexpr double kLongestSeconds = 3600;
constexpr std::size_t kBucketsMax = 1024;
constexpr std::int64_t kCountMax = std::int64_t{1} << 53;

int bucket_of(double seconds) {
  const double within = std::clamp(seconds, kShortestSeconds, kLongestSeconds);
  return static_cast<int>(std::ceil(std::log(within) / kLogGrowth));
}

}  // namespace

double LatencySketch::value_of(int bucket) { return std::exp((bucket - 0.5) * kLogGrowth); }

void LatencySketch::add(Duration latency, std::int64_t times) {
  if (times <= 0) return;
  buckets_[bucket_of(std::chrono::duration<double>(latency).count())] += times;
  count_ += times;
}

void LatencySketch::merge(const LatencySketch& other) {
  for (const auto& [bucket, count] : other.buckets_) buckets_[bucket] += count;
  count_ += other.count_;
}

LatencySketch LatencySketch::since(const LatencySketch& earlier) const {
  LatencySketch out;
  for (const auto& [bucket, count] : buckets_) {
    const auto before = earlier.buckets_.find(bucket);
    const std::int64_t more = count - (before == earlier.buckets_.end() ? 0 : before->second);
    if (more <= 0) continue;
    out.buckets_[bucket] = more;
    out.count_ += more;
  }
  return out;
}

double LatencySketch::quantile(double p) const {
  if (count_ == 0) return 0;
  const double rank = p * static_cast<double>(count_);
  double below = 0;
  for (const auto& [bucket, count] : buckets_) {
    below += static_cast<double>(count);
    if (below >= rank) return value_of(bucket);
  }
  return value_of(buckets_.rbegin()->first);
}

Json LatencySketch::to_json() const {
  Json out = Json::array();
  for (const auto& [bucket, count] : buckets_) out.push_back({bucket, count});
  return out;
}

Result<LatencySketch> LatencySketch::from_json(const Json& json) {
  if (!json.is_array() || json.size() > kBucketsMax) {
    return invalid_argument("expected a list of at most 1024 [bucket, count] pairs");
  }
  const int last = bucket_of(kLongestSeconds);
  const int first = bucket_of(kShortestSeconds);
  LatencySketch out;
  for (const Json& pair : json) {
    const bool fine = pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
                      pair[1].is_number_integer();
    if (!fine) return invalid_argument("expected [bucket, count] pairs of integers");
    const auto bucket = pair[0].get<std::int64_t>();
    const auto count = pair[1].get<std::int64_t>();
    if (bucket < first || bucket > last || count <= 0 || count > kCountMax) {
      return invalid_argument("a bucket or a count is out of range");
    }
    out.buckets_[static_cast<int>(bucket)] += count;
    out.count_ += count;
  }
  return out;
}

}  // namespace kantha::noded
