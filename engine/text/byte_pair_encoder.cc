#include <string>
#include <utility>

#include "engine/text/byte_alphabet.h"
#include "engine/text/pair_merges.h"
#include "engine/text/pre_tokenizers.h"
#include "engine/text/text_encoder.h"
#include "engine/text/word_merger.h"
#include "engine/text/word_splitter.h"

namespace kantha::text {
namespace {

/// Words, then bytes, then merges.
class BytePairEncoder : public TextEncoder {
 public:
  BytePairEncoder(const TokenTable& table, WordSplitter splitter, MergeTable merges,
                  bool whole_words)
      : table_(table), splitter_(std::move(splitter)), merges_(std::move(merges)) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      first_[byte] = table.plain_token(alphabet_.spelling(static_cast<std::uint8_t>(byte)));
    }
    if (!whole_words) return;
    for (const auto& [spelling, id] : table.by_text) {
      if (table.plain_token(spelling) < 0 || is_user_defined(id)) continue;
      whole_words_.try_emplace(alphabet_.bytes_of(spelling), id);
    }
  }

  void encode(std::string_view text, bool /*first*/, std::vector<TokenId>& out) const override {
    WordMerger merger(merges_);
    std::vector<TokenId> symbols;
    std::size_t start = 0;
    std::string key;
    for (const std::size_t end : splitter_.split(text)) {
      const std::string_view word = text.substr(start, end - start);
      start = end;
      if (!whole_words_.empty() && word.size() <= table_.longest) {
        const auto whole = whole_words_.find(key.assign(word));
        if (whole != whole_words_.end()) {
          out.push_back(whole->second);
          continue;
        }
      }
      symbols.clear();
      for (const char byte : word) {
        const TokenId id = first_[static_cast<unsigned char>(byte)];
        if (id >= 0) symbols.push_back(id);
      }
      merger.merge(symbols, out);
    }
  }

  void append_bytes(TokenId id, std::string& out) const override {
    const std::string& token = table_.vocabulary.tokens[static_cast<std::size_t>(id)];
    out += is_user_defined(id) ? token : alphabet_.bytes_of(token);
  }

 private:
  bool is_user_defined(TokenId id) const {
    return table_.vocabulary.types[static_cast<std::size_t>(id)] == TokenType::kUserDefined;
  }

  const TokenTable& table_;
  ByteAlphabet alphabet_;
  WordSplitter splitter_;
  MergeTable merges_;
  std::array<TokenId, 256> first_{};  ///< of each byte; -1: the vocabulary lacks it
  /// Raw bytes of whole words that are tokens; only where the rules take them before merging.
  std::unordered_map<std::string, TokenId> whole_words_;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_byte_pair_encoder(const TokenTable& table) {
  const Vocabulary& vocabulary = table.vocabulary;
  PreTokenizer rules{.splits = vocabulary.splits};
  if (rules.splits.empty()) {
    TRY(rules, pre_tokenizer(vocabulary.pre));
  }
  TRY(WordSplitter splitter, WordSplitter::build(rules.splits));
  TRY(MergeTable merges, read_merges(table));
  const bool whole_words = vocabulary.ignore_merges.value_or(rules.whole_words);
  return std::unique_ptr<TextEncoder>(std::make_unique<BytePairEncoder>(
      table, std::move(splitter), std::move(merges), whole_words));
}

}  // namespace kantha::text
