#include "engine/text/vocabulary_digest.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace kantha::text {
namespace {

Vocabulary small() {
  Vocabulary out;
  out.model = "gpt2";
  out.pre = "default";
  out.tokens = {"a", "b", "ab"};
  out.types = {TokenType::kNormal, TokenType::kNormal, TokenType::kNormal};
  out.merges = {"a b"};
  out.eos = 2;
  out.chat_template = "{{ messages }}";
  return out;
}

TEST(VocabularyDigest, IsTheSameForTheSame) {
  EXPECT_EQ(vocabulary_digest(small()), vocabulary_digest(small()));
  EXPECT_EQ(vocabulary_digest(small()).size(), 64U);
}

TEST(VocabularyDigest, DiffersWithWhateverDecidesOnIds) {
  const std::vector<std::function<void(Vocabulary&)>> edits = {
      [](Vocabulary& v) { v.model = "llama"; },
      [](Vocabulary& v) { v.pre = "smollm"; },
      [](Vocabulary& v) { v.tokens[0] = "c"; },
      [](Vocabulary& v) { v.tokens = {"a", "bab"}; },
      [](Vocabulary& v) { v.types[2] = TokenType::kControl; },
      [](Vocabulary& v) { v.merges.clear(); },
      [](Vocabulary& v) { v.merges = {"a", "b"}; },
      [](Vocabulary& v) { v.bos = 1; },
      [](Vocabulary& v) { v.eos = 1; },
      [](Vocabulary& v) { v.eos.reset(); },
      [](Vocabulary& v) { v.eot = 2; },
      [](Vocabulary& v) { v.ends = {1}; },
      [](Vocabulary& v) { v.unknown = 0; },
      [](Vocabulary& v) { v.padding = 0; },
      [](Vocabulary& v) { v.add_bos = true; },
      [](Vocabulary& v) { v.add_eos = true; },
      [](Vocabulary& v) { v.chat_template += " "; },
      [](Vocabulary& v) { v.scores = {0, 0, 0}; },
      [](Vocabulary& v) { v.splits = {"x"}; },
      [](Vocabulary& v) { v.ignore_merges = false; },
      [](Vocabulary& v) { v.space_prefix = SpacePrefix::kNever; },
      [](Vocabulary& v) { v.remove_extra_spaces = true; },
      [](Vocabulary& v) { v.charsmap = "x"; },
      [](Vocabulary& v) { v.lowercase = false; },
      [](Vocabulary& v) { v.nfc = true; },
  };
  std::set<std::string> digests = {vocabulary_digest(small())};
  for (const auto& edit : edits) {
    Vocabulary changed = small();
    edit(changed);
    digests.insert(vocabulary_digest(changed));
  }
  EXPECT_EQ(digests.size(), edits.size() + 1) << "each is another one";
}

TEST(VocabularyDigest, ManyPiecesCountToTheLast) {
  Vocabulary large = small();
  large.tokens.assign(100'000, "token");
  Vocabulary other = large;
  other.tokens.back() = "tokex";
  EXPECT_NE(vocabulary_digest(large), vocabulary_digest(other));
}

}  // namespace
}  // namespace kantha::text
