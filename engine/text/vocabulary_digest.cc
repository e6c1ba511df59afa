#include "engine/text/vocabulary_digest.h"

#include <cstdint>
#include <string_view>

#include "base/digest.h"

namespace kantha::text {
namespace {

/// Pieces with their lengths, so that no two lists read alike.
class Pieces {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
    constexpr std::size_t kBlock = 1u << 16;
    if (bytes_.size() < kBlock) return;
    digest_.add(bytes_);
    bytes_.clear();
  }
  void add(std::int64_t number) {
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>((number >> (8 * i)) & 0xff);
  }
  void add(const std::optional<TokenId>& id) {
    add(id ? static_cast<std::int64_t>(*id) : std::int64_t{-1});
  }
  void add(const std::vector<std::string>& texts) {
    add(static_cast<std::int64_t>(texts.size()));
    for (const std::string& text : texts) add(text);
  }
  std::string hex() {
    digest_.add(bytes_);
    return digest_.hex();
  }

 private:
  Sha256 digest_;
  std::string bytes_;
};

std::int64_t choice(const std::optional<bool>& wish) { return wish ? (*wish ? 1 : 0) : -1; }

}  // namespace

std::string vocabulary_digest(const Vocabulary& vocabulary) {
  Pieces pieces;
  for (const std::string* text :
       {&vocabulary.model, &vocabulary.pre, &vocabulary.chat_template, &vocabulary.charsmap}) {
    pieces.add(*text);
  }
  pieces.add(vocabulary.tokens);
  pieces.add(vocabulary.merges);
  pieces.add(vocabulary.splits);
  for (const TokenType type : vocabulary.types) pieces.add(static_cast<std::int64_t>(type));
  pieces.add(std::string_view(reinterpret_cast<const char*>(vocabulary.scores.data()),
                              vocabulary.scores.size() * sizeof(float)));
  for (const auto* id : {&vocabulary.bos, &vocabulary.eos, &vocabulary.eot, &vocabulary.unknown,
                         &vocabulary.padding}) {
    pieces.add(*id);
  }
  pieces.add(static_cast<std::int64_t>(vocabulary.ends.size()));
  for (const TokenId id : vocabulary.ends) pieces.add(std::optional<TokenId>(id));
  for (const bool flag : {vocabulary.add_bos, vocabulary.add_eos, vocabulary.remove_extra_spaces,
                          vocabulary.lowercase, vocabulary.nfc}) {
    pieces.add(std::int64_t{flag ? 1 : 0});
  }
  pieces.add(choice(vocabulary.ignore_merges));
  pieces.add(vocabulary.space_prefix ? static_cast<std::int64_t>(*vocabulary.space_prefix)
                                     : std::int64_t{-1});
  return pieces.hex();
}

}  // namespace kantha::text
