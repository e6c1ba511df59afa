#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/rng.h"
#include "engine/model/model_from_bytes.h"
#include "tests/engine/model/fuzz_targets.h"
#include "tests/fake/gguf_writer.h"

/// A thousand damaged copies of a good file: each is refused or runs, and nothing reads past the
/// end (the sanitizer build sees to the latter).
namespace kantha::model {
namespace {

using fake::Bytes;

constexpr std::uint64_t kMutants = 1000;
constexpr std::uint64_t kNastyNumbers[] = {0,
                                           1,
                                           2,
                                           9,
                                           12,
                                           31,
                                           0x7f,
                                           0xff,
                                           0xffff,
                                           0x7fffffff,
                                           0x80000000,
                                           0xffffffff,
                                           0x100000000,
                                           0x3fffffffffffffff,
                                           0x7fffffffffffffff,
                                           0x8000000000000000,
                                           0xfffffffffffffff0,
                                           0xffffffffffffffff};

/// A stream of numbers below a bound.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return random_bits(seed_, counter_++) % bound; }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

void damage(Bytes& bytes, Dice& dice) {
  // Most of the damage goes where the structure is, the rest anywhere.
  const std::uint64_t reach =
      dice.below(4) == 0 ? bytes.size() : std::min<std::uint64_t>(bytes.size(), 2048);
  const auto at = static_cast<std::ptrdiff_t>(dice.below(reach));
  const auto left = static_cast<std::uint64_t>(std::ssize(bytes) - at);
  const auto length = static_cast<std::ptrdiff_t>(dice.below(std::min<std::uint64_t>(left, 64)));
  switch (dice.below(6)) {
    case 0: bytes[static_cast<std::size_t>(at)] ^= std::byte(1 << dice.below(8)); break;
    case 1:
    case 2: {
      const std::uint64_t number = kNastyNumbers[dice.below(std::size(kNastyNumbers))];
      std::memcpy(&bytes[static_cast<std::size_t>(at)], &number,
                  std::min<std::uint64_t>(left, dice.below(2) == 0 ? 4 : 8));
      break;
    }
    case 3: bytes.erase(bytes.begin() + at, bytes.begin() + at + length); break;
    case 4: {
      const Bytes copy(bytes.begin() + at, bytes.begin() + at + length);
      bytes.insert(bytes.begin() + at, copy.begin(), copy.end());
      break;
    }
    default: bytes.resize(static_cast<std::size_t>(at) + 1); break;
  }
}

TEST(GgufMutants, RunOrAreRefusedWithinASecond) {
  const Bytes good = fake::tiny_llama({.layers = 1,
                                       .width = 32,
                                       .heads = 2,
                                       .kv_heads = 1,
                                       .ffn_width = 32,
                                       .vocabulary = 260,
                                       .type = ops::DType::kQ4_1});
  ASSERT_TRUE(model_from_bytes(good).ok());
  int loaded_count = 0;
  for (std::uint64_t seed = 0; seed < kMutants; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Dice dice(seed);
    Bytes mutant = good;
    for (std::uint64_t i = 0; i <= dice.below(3); ++i) {
      if (!mutant.empty()) damage(mutant, dice);
    }
    mutant.shrink_to_fit();
    const std::clock_t before = std::clock();
    if (fuzz_gguf(mutant)) ++loaded_count;
    EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC) << "a second of CPU time";
  }
  EXPECT_GT(loaded_count, 10) << "damage to names and weights alone is not noticed";
  EXPECT_LT(loaded_count, 800) << "the mutants hardly touch the structure";
}

}  // namespace
}  // namespace kantha::model
