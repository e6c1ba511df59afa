#pragma once

#include <array>
#include <cstdint>

/// How long answers are here, learnt from those that were seen.
namespace kantha::sched {

/// How often answers stop by themselves, by their length so far: stops per token in stretches of
/// [2^i, 2^(i + 1)) output tokens. Tokens of answers that still run or that reached their limit
/// count as well, so that neither short answers that end first nor limits bias the estimate. Old
/// counts fade: about the last 500 stops matter. One thread.
class OutputLengths {
 public:
  OutputLengths();

  /// Output token number `length` (from 1) was generated; it ended its answer or not.
  void observe(std::int32_t length, bool stopped);

  /// Takes what was observed into account from now on.
  void settle();

  /// Share of the answers of `so_far` tokens that do not stop within the next `tokens`.
  double survival(std::int32_t so_far, std::int32_t tokens) const;

 private:
  static constexpr std::size_t kBuckets = 24;

  struct Bucket {
    double tokens = 0;
    double stops = 0;
  };
  /// Expected stops of one answer up to a length, if it went on.
  double stops_until(std::int32_t length) const;

  std::array<Bucket, kBuckets> buckets_{};
  std::array<double, kBuckets> rates_{};         ///< stops per token
  std::array<double, kBuckets> stops_before_{};  ///< stops_until each bucket
  double weight_ = 1;  ///< of what comes now: grows, which is cheaper than to shrink the rest
};

}  // namespace kantha::sched
