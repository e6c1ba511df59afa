#pragma once

#include <cstdint>

/// Random numbers for the load, each a pure function of (seed, stream, index, how many before), so
/// that the same seed gives the same load whatever the servers do. Any thread.
namespace kantha::bench {

/// What the numbers are for; streams of one seed are independent of each other.
enum class Stream : std::uint8_t { kArrivals = 1, kLengths = 2, kWords = 3, kPrefixWords = 4 };

class Draws {
 public:
  Draws(std::uint64_t seed, Stream stream, std::uint64_t index);

  /// [0, 1).
  double unit();
  /// [min, max], each as likely.
  int between(int min, int max);
  /// Mean 0, standard deviation 1 (Box and Muller).
  double normal();
  /// Mean 1.
  double exponential();

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

}  // namespace kantha::bench
