#include "bench/load/draws.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace kantha::bench {

Draws::Draws(std::uint64_t seed, Stream stream, std::uint64_t index)
    : seed_(random_bits(random_bits(seed, static_cast<std::uint64_t>(stream)), index)) {}

double Draws::unit() { return random_unit(seed_, count_++); }

int Draws::between(int min, int max) {
  const double width = static_cast<double>(max) - min + 1;
  return std::min(max, min + static_cast<int>(unit() * width));
}

double Draws::normal() {
  const double radius = std::sqrt(2 * exponential());
  return radius * std::cos(2 * std::numbers::pi * unit());
}

double Draws::exponential() { return -std::log1p(-unit()); }

}  // namespace kantha::bench
