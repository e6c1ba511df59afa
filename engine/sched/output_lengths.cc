#include "engine/sched/output_lengths.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kantha::sched {
namespace {

constexpr double kGrowth = 1.002;
constexpr double kWeightMax = 1e100;
/// Before anything was seen: a stop in so many tokens.
constexpr double kFirstGuess = 256;

std::size_t bucket_of(std::int32_t length) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(length)) - 1);
}

}  // namespace

OutputLengths::OutputLengths() {
  buckets_.fill({.tokens = kFirstGuess, .stops = 1});
  settle();
}

void OutputLengths::observe(std::int32_t length, bool stopped) {
  Bucket& bucket = buckets_[std::min(bucket_of(std::max(length, 1)), kBuckets - 1)];
  bucket.tokens += weight_;
  if (!stopped) return;
  bucket.stops += weight_;
  weight_ *= kGrowth;
  if (weight_ < kWeightMax) return;
  for (Bucket& old : buckets_) old = {old.tokens / weight_, old.stops / weight_};
  weight_ = 1;
}

void OutputLengths::settle() {
  for (std::size_t i = 0; i + 1 < kBuckets; ++i) {
    rates_[i] = buckets_[i].stops / buckets_[i].tokens;
    const auto width = static_cast<double>(std::int64_t{1} << i);
    stops_before_[i + 1] = stops_before_[i] + width * rates_[i];
  }
  rates_.back() = buckets_.back().stops / buckets_.back().tokens;
}

double OutputLengths::stops_until(std::int32_t length) const {
  if (length <= 0) return 0;
  const std::size_t i = std::min(bucket_of(length), kBuckets - 1);
  const double inside = static_cast<double>(length) - static_cast<double>(std::int64_t{1} << i);
  return stops_before_[i] + inside * rates_[i];
}

double OutputLengths::survival(std::int32_t so_far, std::int32_t tokens) const {
  return std::exp(stops_until(so_far) - stops_until(so_far + tokens));
}

}  // namespace kantha::sched
