#include <string>
#include <utility>

#include "engine/text/blank_signs.h"
#include "engine/text/pair_merges.h"
#include "engine/text/text_encoder.h"
#include "engine/text/utf8.h"
#include "engine/text/word_merger.h"
#include "engine/text/word_splitter.h"

namespace kantha::text {
namespace {

/// Characters, those that are no token as their bytes, then merges.
class CharacterPairEncoder : public TextEncoder {
 public:
  CharacterPairEncoder(const TokenTable& table, std::optional<WordSplitter> splitter,
                       MergeTable merges)
      : table_(table), splitter_(std::move(splitter)), merges_(std::move(merges)) {}

  void encode(std::string_view text, bool first, std::vector<TokenId>& out) const override {
    const std::string signs = with_blank_signs(table_.vocabulary, text, first);
    WordMerger merger(merges_);
    std::vector<TokenId> symbols;
    std::vector<std::size_t> ends = {signs.size()};
    if (splitter_) ends = splitter_->split(signs);
    const bool whole_words = table_.vocabulary.ignore_merges.value_or(false);
    std::size_t start = 0;
    for (const std::size_t end : ends) {
      const std::string_view word = std::string_view(signs).substr(start, end - start);
      start = end;
      const TokenId whole = whole_words ? table_.plain_token(word) : -1;
      if (whole >= 0) {
        out.push_back(whole);
        continue;
      }
      symbols.clear();
      append_characters(word, symbols);
      merger.merge(symbols, out);
    }
  }

  void append_bytes(TokenId id, std::string& out) const override {
    append_sentence_piece_bytes(table_, id, out);
  }

 private:
  void append_characters(std::string_view word, std::vector<TokenId>& symbols) const {
    for (std::size_t at = 0; at < word.size();) {
      const CodePoint point = read_code_point(word, at);
      const std::size_t length = point.state == Utf8State::kComplete ? point.length : 1;
      const std::string_view sign = word.substr(at, length);
      at += length;
      const TokenId id = table_.plain_token(sign);
      if (id >= 0) {
        symbols.push_back(id);
      } else {
        append_fallback(table_, sign, symbols);
      }
    }
  }

  const TokenTable& table_;
  std::optional<WordSplitter> splitter_;
  MergeTable merges_;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_character_pair_encoder(const TokenTable& table) {
  std::optional<WordSplitter> splitter;
  if (!table.vocabulary.splits.empty()) {
    TRY(splitter, WordSplitter::build(table.vocabulary.splits));
  }
  TRY(MergeTable merges, read_merges(table));
  return std::unique_ptr<TextEncoder>(
      std::make_unique<CharacterPairEncoder>(table, std::move(splitter), std::move(merges)));
}

}  // namespace kantha::text
