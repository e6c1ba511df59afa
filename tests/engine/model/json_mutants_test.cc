#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/rng.h"
#include "tests/engine/model/fuzz_targets.h"

/// Damaged texts of a folder's files: each is refused or used.
namespace kantha::model {
namespace {

constexpr std::string_view kPieces[] = {
    "0",       "-1",     "1e9",   "4294967296", "18446744073709551616",
    "[",       "]",      "{",     "}",          "\"",
    ",",       ":",      "null",  "true",       "\"a\"",
    "\\u0000", "\"ab\"", "\"▁\"", "[1,2]",      "{\"type\":\"BPE\"}",
    "\xff",    "319",    "320",   "\"\"",       "\"(?:a|b)*+\""};

/// A text of the corpus after one to four edits.
std::string mutant_of(const std::vector<std::string>& corpus, std::uint64_t seed) {
  std::uint64_t counter = 0;
  const auto below = [&](std::uint64_t bound) { return random_bits(seed, counter++) % bound; };
  std::string text = corpus[below(corpus.size())];
  for (std::uint64_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(text.size() + 1);
    switch (below(3)) {
      case 0: text.erase(at, below(8)); break;
      case 1: text.replace(at, below(6), kPieces[below(std::size(kPieces))]); break;
      default: text.insert(at, text.substr(below(text.size() + 1), below(40)));
    }
  }
  return text;
}

TEST(JsonMutants, OfTokenizersAreRefusedOrCutTexts) {
  const auto corpus = tokenizer_json_corpus();
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    fuzz_tokenizer_json(mutant_of(corpus, seed));
  }
}

TEST(JsonMutants, OfConfigsAreRefusedOrRead) {
  const auto corpus = config_corpus();
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    fuzz_config(mutant_of(corpus, seed));
  }
}

/// Otherwise the mutants would begin with something that is refused anyway.
TEST(JsonMutants, BeginWithWhatIsTaken) {
  for (const std::string& file : gguf_corpus()) {
    std::vector<std::byte> bytes(file.size() + (384 << 10), std::byte{0x3c});
    std::memcpy(bytes.data(), file.data(), file.size());
    EXPECT_TRUE(fuzz_gguf(bytes));
  }
}

}  // namespace
}  // namespace kantha::model
