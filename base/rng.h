#pragma once

#include <cstdint>

/// Random numbers as a pure function of (seed, counter), so that a request draws the same numbers
/// whatever runs beside it, and so that a stream can be resumed at any position.
namespace kantha {

/// 64 well-mixed bits for (seed, counter). Philox-like quality is not needed for sampling; this is
/// two rounds of the SplitMix64 finaliser (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014) over both words. Any thread.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter);

/// Uniform in [0, 1) with 53 bits.
double random_unit(std::uint64_t seed, std::uint64_t counter);

/// Entropy from the operating system, for seeds that nobody asked to repeat. Any thread.
std::uint64_t entropy_seed();

}  // namespace kantha
