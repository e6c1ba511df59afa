#include "engine/text/word_splitter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/check.h"
#include "engine/text/unicode_class.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

/// One code point; small, because long prompts are millions of them.
struct Sign {
  std::uint32_t start;  ///< byte offset
  std::uint32_t code : 24;
  std::uint32_t kind_bits : 8;

  CodeClass kind() const { return static_cast<CodeClass>(kind_bits); }
};

constexpr std::uint32_t kBadByte = 0xFFFFFF;

/// The text as signs, and the cuts found so far. Functions take and give sign indices.
class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_size_(text.size()) {
    CHECK(text.size() < std::numeric_limits<std::uint32_t>::max());
    signs_.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = read_code_point(text, at);
      const bool good = point.state == Utf8State::kComplete;
      const CodeClass kind = good ? code_class(point.code) : CodeClass::kOther;
      signs_.push_back({static_cast<std::uint32_t>(at), good ? point.code : kBadByte,
                        static_cast<std::uint32_t>(kind)});
      at += good ? point.length : 1;
    }
  }

  std::vector<std::size_t> split(WordRules rules) {
    switch (rules) {
      case WordRules::kGpt2: split_gpt2(0, signs_.size()); break;
      case WordRules::kSmollm: split_smollm(); break;
      case WordRules::kDefault: split_default(); break;
      case WordRules::kLlamaBpe: split_llama(3); break;
      case WordRules::kQwen2: split_llama(1); break;
    }
    return std::move(ends_);
  }

 private:
  void cut(std::size_t end) {
    ends_.push_back(end < signs_.size() ? signs_[end].start : text_size_);
  }

  std::size_t run_end(std::size_t at, std::size_t end, CodeClass kind) const {
    while (at < end && signs_[at].kind() == kind) ++at;
    return at;
  }

  bool is_newline(std::size_t at) const {
    return signs_[at].code == '\n' || signs_[at].code == '\r';
  }

  /// The letter at `at` in lower case, as a case-blind pattern sees it.
  char32_t letter_at(std::size_t at, std::size_t end, bool any_case) const {
    if (at >= end) return 0;
    const char32_t code = signs_[at].code;
    if (any_case && code >= 'A' && code <= 'Z') return code + 32;
    return any_case && code == 0x17F ? U's' : code;  // the long s folds to s
  }

  /// Length in signs of 's 't 'm 'd 're 've 'll at `at`; 0 when there is none.
  std::size_t contraction(std::size_t at, std::size_t end, bool any_case) const {
    if (signs_[at].code != '\'') return 0;
    const char32_t first = letter_at(at + 1, end, any_case);
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    const char32_t second = letter_at(at + 2, end, any_case);
    const bool two =
        ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
    return two ? 3 : 0;
  }

  /// Blanks up to a word: all of them at the end of the stretch, otherwise all but the last one.
  static std::size_t blanks_end(std::size_t at, std::size_t run, std::size_t end) {
    return run == end || run - at == 1 ? run : run - 1;
  }

  std::size_t gpt2_word_end(std::size_t at, std::size_t end) const {
    if (const std::size_t length = contraction(at, end, /*any_case=*/false)) return at + length;
    const bool lead = signs_[at].code == ' ' && at + 1 < end;
    const std::size_t body = lead ? at + 1 : at;
    const CodeClass kind = signs_[body].kind();
    if (kind != CodeClass::kSpace) return run_end(body, end, kind);
    return blanks_end(at, run_end(at, end, CodeClass::kSpace), end);
  }

  void split_gpt2(std::size_t at, std::size_t end) {
    while (at < end) {
      at = gpt2_word_end(at, end);
      cut(at);
    }
  }

  void split_smollm() {
    for (std::size_t at = 0; at < signs_.size();) {
      std::size_t end = at;
      while (end < signs_.size() && signs_[end].kind() != CodeClass::kNumber) ++end;
      split_gpt2(at, end);
      if (end < signs_.size()) cut(++end);
      at = end;
    }
  }

  bool is_default_sign(std::size_t at) const {
    switch (signs_[at].code) {
      case '$':
      case '+':
      case '<':
      case '=':
      case '>':
      case '^':
      case '~':
      case '|': return true;
      default: return signs_[at].code != kBadByte && is_punctuation(signs_[at].code);
    }
  }

  bool is_digit(std::size_t at) const { return signs_[at].code >= '0' && signs_[at].code <= '9'; }

  /// A number run: groups of three ASCII digits from the left, what is between them by itself.
  void split_default_number(std::size_t at, std::size_t end) {
    std::size_t open = at;
    while (at < end) {
      const bool three = at + 2 < end && is_digit(at) && is_digit(at + 1) && is_digit(at + 2);
      if (!three) {
        ++at;
        continue;
      }
      if (open < at) cut(at);
      at += 3;
      cut(at);
      open = at;
    }
    if (open < end) cut(end);
  }

  void split_default_plain(std::size_t at, std::size_t end) {
    while (at < end) {
      const std::size_t stop = gpt2_word_end(at, end);
      std::size_t number = at;
      while (number < stop && signs_[number].kind() != CodeClass::kNumber) ++number;
      if (number > at) cut(number);
      split_default_number(number, stop);
      at = stop;
    }
  }

  void split_default() {
    for (std::size_t at = 0; at < signs_.size();) {
      std::size_t end = at;
      if (is_default_sign(at)) {
        while (end < signs_.size() && is_default_sign(end)) ++end;
        cut(end);
      } else {
        while (end < signs_.size() && !is_default_sign(end)) ++end;
        split_default_plain(at, end);
      }
      at = end;
    }
  }

  /// End of a run of blanks at `at`: after its last line break when it has one.
  std::size_t llama_blanks_end(std::size_t at) const {
    const std::size_t run = run_end(at, signs_.size(), CodeClass::kSpace);
    for (std::size_t last = run; last > at; --last) {
      if (is_newline(last - 1)) return last;
    }
    return blanks_end(at, run, signs_.size());
  }

  std::size_t llama_word_end(std::size_t at, std::size_t digits_max) const {
    const std::size_t end = signs_.size();
    if (const std::size_t length = contraction(at, end, /*any_case=*/true)) return at + length;
    const CodeClass kind = signs_[at].kind();
    if (kind == CodeClass::kLetter) return run_end(at, end, kind);
    if (kind == CodeClass::kNumber) {
      return run_end(at, std::min(end, at + digits_max), kind);
    }
    const bool letter_next = at + 1 < end && signs_[at + 1].kind() == CodeClass::kLetter;
    if (letter_next && !is_newline(at)) return run_end(at + 1, end, CodeClass::kLetter);
    const bool lead = signs_[at].code == ' ' && at + 1 < end;
    const std::size_t body = lead ? at + 1 : at;
    if (signs_[body].kind() == CodeClass::kOther) {
      std::size_t stop = run_end(body, end, CodeClass::kOther);
      while (stop < end && is_newline(stop)) ++stop;
      return stop;
    }
    return llama_blanks_end(at);
  }

  void split_llama(std::size_t digits_max) {
    for (std::size_t at = 0; at < signs_.size();) {
      at = llama_word_end(at, digits_max);
      cut(at);
    }
  }

  std::size_t text_size_;
  std::vector<Sign> signs_;
  std::vector<std::size_t> ends_;
};

constexpr std::array<std::pair<std::string_view, WordRules>, 5> kNames = {{
    {"gpt-2", WordRules::kGpt2},
    {"smollm", WordRules::kSmollm},
    {"default", WordRules::kDefault},
    {"llama-bpe", WordRules::kLlamaBpe},
    {"qwen2", WordRules::kQwen2},
}};

}  // namespace

std::optional<WordRules> word_rules(std::string_view pre) {
  for (const auto& [name, rules] : kNames) {
    if (name == pre) return rules;
  }
  return std::nullopt;
}

std::vector<std::size_t> split_words(WordRules rules, std::string_view text) {
  return Splitter(text).split(rules);
}

}  // namespace kantha::text
