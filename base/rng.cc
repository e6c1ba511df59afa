#include "base/rng.h"

#include <unistd.h>

#include "base/check.h"

namespace kantha {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  return mix(mix(seed) ^ (counter * 0xd1342543de82ef95ULL));
}

double random_unit(std::uint64_t seed, std::uint64_t counter) {
  return static_cast<double>(random_bits(seed, counter) >> 11) * 0x1.0p-53;
}

std::uint64_t entropy_seed() {
  // std::random_device asks the processor what it can, which costs a virtual machine 20 µs.
  std::uint64_t out = 0;
  CHECK(::getentropy(&out, sizeof out) == 0);
  return out;
}

}  // namespace kantha
