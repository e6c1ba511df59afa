#include <array>
#include <string>

#include "engine/text/blank_signs.h"
#include "engine/text/code_set.h"
#include "engine/text/sign_classes.h"
#include "engine/text/text_encoder.h"
#include "engine/text/token_prefixes.h"
#include "engine/text/unicode_case.h"
#include "engine/text/unicode_categories.h"
#include "engine/text/unicode_class.h"
#include "engine/text/unicode_normal.h"

namespace kantha::text {
namespace {

constexpr std::size_t kWordSignsMax = 100;  // BERT's: a longer word is unknown

CodeSet set_of(std::initializer_list<std::string_view> categories) {
  CodeSet set;
  for (const std::string_view name : categories) set.add(CodeSet(unicode_category(name)));
  return set;
}

/// Ideographs, each of which is a word.
CodeSet ideographs() {
  CodeSet set(0x4E00, 0x9FFF);
  constexpr std::array<CodeRange, 7> kOthers = {{{0x3400, 0x4DBF},
                                                 {0x20000, 0x2A6DF},
                                                 {0x2A700, 0x2B73F},
                                                 {0x2B740, 0x2B81F},
                                                 {0x2B920, 0x2CEAF},
                                                 {0xF900, 0xFAFF},
                                                 {0x2F800, 0x2FA1F}}};
  for (const CodeRange& range : kOthers) set.add(range.first, range.last);
  return set;
}

/// BERT's: words at blanks, signs and ideographs, in lower case without accents; then the longest
/// token that begins a word, the longest that goes on, and so forth, or else unknown.
/// Source: Devlin et al., "BERT", 2018, and its published tokenization.
class WordPieceEncoder : public TextEncoder {
 public:
  explicit WordPieceEncoder(const TokenTable& table)
      : table_(table),
        dropped_(set_of({"Cc", "Cf", "Co"})),
        alone_(set_of({"P"})),
        accents_(set_of({"Mn"})) {
    alone_.add('!', '/');
    alone_.add(':', '@');
    alone_.add('[', '`');
    alone_.add('{', '~');
    alone_.add(ideographs());
    dropped_.add(0xFFFD, 0xFFFD);
    for (std::size_t i = 0; i < table.vocabulary.tokens.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      if (!table.is_control(id)) prefixes_.add(table.vocabulary.tokens[i], id);
    }
    prefixes_.sort();
  }

  void encode(std::string_view text, bool /*first*/, std::vector<TokenId>& out) const override {
    std::string word;
    std::size_t signs = 0;
    const auto finish = [&] {
      append_word(word, signs, out);
      word.clear();
      signs = 0;
    };
    const std::string form = table_.vocabulary.lowercase ? normal_form_d(text) : std::string(text);
    for (std::size_t at = 0; at < form.size();) {
      const CodePoint point = read_code_point(form, at);
      const bool good = point.state == Utf8State::kComplete;
      at += good ? point.length : 1;
      if (!good) continue;
      if (code_class(point.code) == CodeClass::kSpace) {
        finish();
      } else if (!is_dropped(point.code)) {
        const bool alone = alone_.contains(point.code);
        if (alone) finish();
        append_sign(word, point.code);
        ++signs;
        if (alone) finish();
      }
    }
    finish();
  }

  void append_bytes(TokenId id, std::string& out) const override {
    append_sentence_piece_bytes(table_, id, out);
  }

 private:
  bool is_dropped(char32_t code) const {
    return dropped_.contains(code) || (table_.vocabulary.lowercase && accents_.contains(code));
  }

  void append_sign(std::string& word, char32_t code) const {
    if (table_.vocabulary.lowercase) {
      append_in_case(word, code, LetterCase::kLower);
    } else {
      append_code_point(word, code);
    }
  }

  void append_word(const std::string& word, std::size_t signs, std::vector<TokenId>& out) const {
    if (word.empty()) return;
    const std::string marked = std::string(kBlankSign) + word;
    const std::size_t before = out.size();
    bool known = signs <= kWordSignsMax;
    for (std::size_t at = 0; known && at < marked.size();) {
      TokenPrefixes::Walk walk(prefixes_);
      std::size_t best = at;
      TokenId id = -1;
      for (std::size_t end = at; end < marked.size() && walk.step(marked[end]);) {
        ++end;
        if (walk.token() >= 0) {
          best = end;
          id = walk.token();
        }
      }
      known = id >= 0;
      if (known) out.push_back(id);
      at = best;
    }
    if (known) return;
    out.resize(before);
    if (table_.vocabulary.unknown) out.push_back(*table_.vocabulary.unknown);
  }

  const TokenTable& table_;
  CodeSet dropped_;
  CodeSet alone_;
  CodeSet accents_;
  TokenPrefixes prefixes_;
};

}  // namespace

Result<std::unique_ptr<TextEncoder>> make_word_piece_encoder(const TokenTable& table) {
  return std::unique_ptr<TextEncoder>(std::make_unique<WordPieceEncoder>(table));
}

}  // namespace kantha::text
