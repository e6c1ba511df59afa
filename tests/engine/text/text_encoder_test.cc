#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "engine/text/character_map.h"
#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer.h"
#include "engine/text/unicode_normal.h"

namespace kantha::text {
namespace {

using Pieces = std::vector<std::string>;

/// A vocabulary of one kind: <unk>, <s> and what the test adds, best score first.
class KindVocabulary {
 public:
  explicit KindVocabulary(const std::string& model) {
    made_.model = model;
    made_.unknown = 0;
    made_.bos = 1;
    add("<unk>", TokenType::kUnknown);
    add("<s>", TokenType::kControl);
  }

  KindVocabulary& add(const std::string& token, TokenType type = TokenType::kNormal) {
    return add(token, type, -static_cast<float>(made_.tokens.size()));
  }
  KindVocabulary& add(const std::string& token, TokenType type, float score) {
    made_.tokens.push_back(token);
    made_.types.push_back(type);
    made_.scores.push_back(score);
    return *this;
  }
  KindVocabulary& add_all(std::initializer_list<const char*> tokens) {
    for (const char* token : tokens) add(token);
    return *this;
  }
  KindVocabulary& add_bytes() {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (int byte = 0; byte < 256; ++byte) {
      add(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", TokenType::kByte);
    }
    return *this;
  }
  Vocabulary& plain() { return made_; }
  Tokenizer build() const {
    Result<Tokenizer> built = Tokenizer::build(made_);
    CHECK(built.ok(), built.ok() ? "" : built.error().message.c_str());
    return std::move(built).value();
  }

 private:
  Vocabulary made_;
};

/// The tokens of a text, as the vocabulary spells them.
Pieces pieces(const Tokenizer& tokenizer, std::string_view text, bool parse_special = false) {
  Pieces out;
  for (const TokenId id : tokenizer.encode(text, parse_special)) {
    out.push_back(tokenizer.vocabulary().tokens[static_cast<std::size_t>(id)]);
  }
  return out;
}

TEST(ScoreEncoder, MergesTheBestScoreFirstAndTheLeftmostAmongEquals) {
  KindVocabulary kind("llama");
  kind.add_all({"▁", "a", "b", "c"});
  kind.add("bc", TokenType::kNormal, -1).add("ab", TokenType::kNormal, -2);
  kind.add("aa", TokenType::kNormal, -3);
  const Tokenizer tokenizer = kind.build();
  EXPECT_EQ(pieces(tokenizer, "abc"), (Pieces{"▁", "a", "bc"}));
  EXPECT_EQ(pieces(tokenizer, "aaa"), (Pieces{"▁", "aa", "a"}));
}

TEST(ScoreEncoder, WritesWhatIsNoTokenAsBytesAndReadsThemBack) {
  KindVocabulary kind("llama");
  kind.add_all({"▁", "a"}).add_bytes();
  const Tokenizer tokenizer = kind.build();
  EXPECT_EQ(pieces(tokenizer, "é"), (Pieces{"▁", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(pieces(tokenizer, "\xFF"), (Pieces{"▁", "<0xFF>"}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("aé\xFF a", false), false), "aé\xFF a");
  // A byte token's name is plain text when it is typed.
  EXPECT_EQ(pieces(tokenizer, "<0x41>").size(), 7u);
}

TEST(ScoreEncoder, WritesUnknownOnceWhereThereAreNoBytes) {
  KindVocabulary kind("llama");
  kind.add_all({"▁", "a"});
  EXPECT_EQ(pieces(kind.build(), "aé"), (Pieces{"▁", "a", "<unk>"}));
}

TEST(ScoreEncoder, PutsABlankInFrontAsTheVocabularyWantsIt) {
  KindVocabulary kind("llama");
  kind.add_all({"▁", "a", "▁a"});
  EXPECT_EQ(pieces(kind.build(), "a<s>a", true), (Pieces{"▁a", "<s>", "▁a"}));
  kind.plain().space_prefix = SpacePrefix::kFirst;
  EXPECT_EQ(pieces(kind.build(), "a<s>a", true), (Pieces{"▁a", "<s>", "a"}));
  EXPECT_EQ(pieces(kind.build(), "<s>a", true), (Pieces{"<s>", "a"}));
  kind.plain().space_prefix = SpacePrefix::kNever;
  EXPECT_EQ(pieces(kind.build(), "a a", true), (Pieces{"a", "▁a"}));
}

TEST(ScoreEncoder, GivesBackOnlyTheBlankThatItPutInFront) {
  KindVocabulary kind("llama");
  kind.add_all({"▁", "a", "▁a", "▁▁"});
  const Tokenizer tokenizer = kind.build();
  for (const std::string text : {"a", " a", "   a", "a a", ""}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, false), false), text);
  }
  // A stream goes on behind a prompt: its first blank is the text's own.
  Detokenizer stream(tokenizer, {});
  EXPECT_EQ(stream.push(4) + stream.push(4) + stream.flush(), " a a");
  EXPECT_EQ(tokenizer.spelling(4), " a");
  EXPECT_EQ(tokenizer.spelling(1), "<s>");
}

TEST(ScoreEncoder, HoldsBackHalfACharacterOfByteTokens) {
  KindVocabulary kind("llama");
  kind.add_bytes();
  const Tokenizer tokenizer = kind.build();
  Detokenizer stream(tokenizer, {});
  std::string shown;
  for (const char byte : std::string("🦩")) {
    EXPECT_EQ(shown, "");
    shown += stream.push(2 + static_cast<unsigned char>(byte));
  }
  EXPECT_EQ(shown, "🦩");
}

TEST(CharacterPairEncoder, MergesByRankAcrossBlanksAndLines) {
  KindVocabulary kind("gemma4");
  kind.add_all({"a", "b", "▁", "\n", "▁b", "a▁b", "\n\n"}).add_bytes();
  kind.plain().merges = {"▁ b", "a ▁b", "\n \n"};
  const Tokenizer tokenizer = kind.build();
  EXPECT_EQ(pieces(tokenizer, "a b\n\né"), (Pieces{"a▁b", "\n\n", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(" a b", false), false), " a b");
}

TEST(UnigramEncoder, TakesTheMostLikelyTokens) {
  KindVocabulary kind("t5");
  kind.add("▁", TokenType::kNormal, -2).add("a", TokenType::kNormal, -2);
  kind.add("b", TokenType::kNormal, -2).add("▁ab", TokenType::kNormal, -5);
  kind.add("ab", TokenType::kNormal, -2.5);
  EXPECT_EQ(pieces(kind.build(), "ab"), (Pieces{"▁", "ab"}));
  kind.plain().scores.back() = -3.5;
  EXPECT_EQ(pieces(kind.build(), "ab"), (Pieces{"▁ab"}));
}

TEST(UnigramEncoder, JoinsNeighbouringUnknownSignsAndTidiesBlanks) {
  KindVocabulary kind("t5");
  kind.add_all({"▁", "a"});
  EXPECT_EQ(pieces(kind.build(), "éxa"), (Pieces{"▁", "<unk>", "a"}));
  EXPECT_EQ(pieces(kind.build(), " a  a "), (Pieces{"▁", "▁", "a", "▁", "▁", "a", "▁"}));
  kind.plain().remove_extra_spaces = true;
  EXPECT_EQ(pieces(kind.build(), " a  a "), (Pieces{"▁", "a", "▁", "a"}));
  EXPECT_EQ(pieces(kind.build(), "  "), Pieces{});
}

TEST(WordPieceEncoder, CutsWordsIntoTheLongestPiecesOrNone) {
  KindVocabulary kind("bert");
  kind.add_all({"▁un", "aff", "able", "▁a", "▁!", "▁中", "▁caf", "e"});
  const Tokenizer tokenizer = kind.build();
  EXPECT_EQ(pieces(tokenizer, "UNaffable a!"), (Pieces{"▁un", "aff", "able", "▁a", "▁!"}));
  EXPECT_EQ(pieces(tokenizer, "unknown a"), (Pieces{"<unk>", "▁a"}));
  EXPECT_EQ(pieces(tokenizer, "a中a"), (Pieces{"▁a", "▁中", "▁a"}));
  EXPECT_EQ(pieces(tokenizer, "café"), (Pieces{"▁caf", "e"}));
  EXPECT_EQ(pieces(tokenizer, std::string(200, 'a')), (Pieces{"<unk>"}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a!", false), false), "a !");
}

TEST(WordPieceEncoder, KeepsCaseWhereTheVocabularySaysSo) {
  KindVocabulary kind("bert");
  kind.add_all({"▁A", "▁a"});
  EXPECT_EQ(pieces(kind.build(), "A a"), (Pieces{"▁a", "▁a"}));
  kind.plain().lowercase = false;
  EXPECT_EQ(pieces(kind.build(), "A a"), (Pieces{"▁A", "▁a"}));
}

TEST(Tokenizer, BringsTextToNfcFirstWhereTheVocabularySaysSo) {
  KindVocabulary kind("gemma4");
  kind.add_all({"é", "e"}).add_bytes();
  EXPECT_EQ(pieces(kind.build(), "e\u0301"), (Pieces{"e", "<0xCC>", "<0x81>"}));
  kind.plain().nfc = true;
  EXPECT_EQ(pieces(kind.build(), "e\u0301"), (Pieces{"é"}));
}

TEST(CharacterMap, ReplacesTheLongestStretchAndRefusesLyingLengths) {
  // Units: the root's children begin at 1; "A" (0x41) is at 1 ^ 0x41 = 0x40, and its value at 0x41.
  std::vector<std::uint32_t> units(0x43, 0);
  units[0] = 1U << 10U;
  units[0x40] = 0x41U | 0x100U | (1U << 10U);
  units[0x41] = 1;
  std::string data(4, '\0');
  data[0] = static_cast<char>(units.size() * 4 % 256);
  data[1] = static_cast<char>(units.size() * 4 / 256);
  data.append(reinterpret_cast<const char*>(units.data()), units.size() * 4);
  data.append("\0bc\0", 4);
  const Result<CharacterMap> map = CharacterMap::read(data);
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_EQ(map->apply("xAyA"), "xbcybc");
  EXPECT_EQ(map->apply("a\xFF"), "a\uFFFD");
  for (const std::string& bad : {std::string("ab"), std::string("\xFF\xFF\xFF\x7F", 4) + "x",
                                 data.substr(0, data.size() - 1)}) {
    EXPECT_FALSE(CharacterMap::read(bad).ok());
  }
}

TEST(UnicodeNormal, ComposesAndDecomposes) {
  struct Row {
    const char* text;
    const char* composed;
    const char* decomposed;
  };
  const Row rows[] = {
      {"abc", "abc", "abc"},
      {"e\u0301", "\u00e9", "e\u0301"},
      {"\u1e69", "\u1e69", "s\u0323\u0307"},
      {"s\u0307\u0323", "\u1e69", "s\u0323\u0307"},
      {"\u212b", "\u00c5", "A\u030a"},
      {"\uac01", "\uac01", "\u1100\u1161\u11a8"},
      {"\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
      {"\u0958", "\u0915\u093c", "\u0915\u093c"},
      {"\U0001D15E", "\U0001D157\U0001D165", "\U0001D157\U0001D165"},
      {"a\u0327\u0301\u0301", "\u00e1\u0327\u0301", "a\u0327\u0301\u0301"},
      {"\u00e9\xFF\u0301", "\u00e9\xFF\u0301", "e\u0301\xFF\u0301"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(normal_form_c(row.text), row.composed) << row.text;
    EXPECT_EQ(normal_form_d(row.text), row.decomposed) << row.text;
  }
}

}  // namespace
}  // namespace kantha::text
