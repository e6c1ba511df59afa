#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/byte_alphabet.h"
#include "engine/text/tokenizer.h"

/// Hand-made vocabularies for tests: ids 0–255 are the bytes, then what is added.
namespace kantha::text {

class TinyVocabulary {
 public:
  explicit TinyVocabulary(std::string pre = "gpt-2") {
    vocabulary_.model = "gpt2";
    vocabulary_.pre = std::move(pre);
    for (int byte = 0; byte < 256; ++byte) {
      add(alphabet_.spelling(static_cast<std::uint8_t>(byte)), TokenType::kNormal);
    }
  }

  TokenId add(std::string_view name, TokenType type) {
    vocabulary_.tokens.emplace_back(name);
    vocabulary_.types.push_back(type);
    return static_cast<TokenId>(vocabulary_.tokens.size() - 1);
  }

  /// Adds the token left+right (bytes, spelled here in the alphabet) and its merge.
  TokenId merge(std::string_view left, std::string_view right) {
    vocabulary_.merges.push_back(spell(left) + " " + spell(right));
    return add(spell(left) + spell(right), TokenType::kNormal);
  }

  std::string spell(std::string_view bytes) const {
    std::string spelled;
    for (const char byte : bytes) spelled += alphabet_.spelling(static_cast<std::uint8_t>(byte));
    return spelled;
  }

  Vocabulary& plain() { return vocabulary_; }
  Tokenizer build() const {
    Result<Tokenizer> built = Tokenizer::build(vocabulary_);
    CHECK(built.ok(), "the test's vocabulary is right");
    return std::move(built).value();
  }

 private:
  ByteAlphabet alphabet_;
  Vocabulary vocabulary_;
};

}  // namespace kantha::text
