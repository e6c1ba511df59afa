#include "engine/grammar/encoding.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "engine/text/utf8.h"

namespace kantha::grammar {
namespace {

using Bytes = std::array<unsigned char, 4>;

std::size_t encoded_size(char32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

Bytes encoded(char32_t code) {
  std::string text;
  text::append_code_point(text, code);
  Bytes bytes{};
  std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<unsigned char>(c); });
  return bytes;
}

/// Writes ranges of code points as edges; what many of them end with is shared.
class RangeWriter {
 public:
  RangeWriter(Nfa& nfa, StateId from, StateId to) : nfa_(nfa), from_(from) { tails_[0] = to; }

  void add(char32_t low, char32_t high) {
    // Where the encoded size changes, and around the surrogates.
    constexpr std::array<text::CodeRange, 5> kParts{
        {{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, text::kCodeMax}}};
    for (const text::CodeRange& part : kParts) {
      const char32_t begin = std::max(low, part.first);
      const char32_t end = std::min(high, part.last);
      if (begin > end) continue;
      const Bytes first = encoded(begin);
      const Bytes last = encoded(end);
      add_bytes(from_, first.data(), last.data(), encoded_size(begin));
    }
  }

 private:
  /// The state after which `count` continuation bytes of any value lead to the end.
  StateId tail(std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
      if (tails_[i] != kNone) continue;
      tails_[i] = nfa_.add_state();
      nfa_.add_bytes(tails_[i], 0x80, 0xBF, tails_[i - 1]);
    }
    return tails_[count];
  }

  /// Encodings of one size from `low` to `high`.
  void add_bytes(StateId from, const unsigned char* low, const unsigned char* high,
                 std::size_t size) {
    if (size == 1) return nfa_.add_bytes(from, *low, *high, tails_[0]);
    static constexpr Bytes kLowest{0x80, 0x80, 0x80, 0x80};
    static constexpr Bytes kHighest{0xBF, 0xBF, 0xBF, 0xBF};
    unsigned begin = *low;
    unsigned end = *high;
    if (begin == end) return add_below(from, begin, low + 1, high + 1, size);
    if (!std::equal(low + 1, low + size, kLowest.begin())) {
      add_below(from, begin++, low + 1, kHighest.data(), size);
    }
    if (!std::equal(high + 1, high + size, kHighest.begin())) {
      add_below(from, end--, kLowest.data(), high + 1, size);
    }
    if (begin > end) return;
    nfa_.add_bytes(from, static_cast<unsigned char>(begin), static_cast<unsigned char>(end),
                   tail(size - 1));
  }

  void add_below(StateId from, unsigned byte, const unsigned char* low, const unsigned char* high,
                 std::size_t size) {
    const StateId next = nfa_.add_state();
    nfa_.add_bytes(from, static_cast<unsigned char>(byte), static_cast<unsigned char>(byte), next);
    add_bytes(next, low, high, size - 1);
  }

  static constexpr StateId kNone = ~StateId{0};
  Nfa& nfa_;
  const StateId from_;
  std::array<StateId, 4> tails_{kNone, kNone, kNone, kNone};
};

/// Characters that a JSON string cannot have as they are.
const text::CodeSet& escaped_codes() {
  static const text::CodeSet codes{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
  return codes;
}

void add_hex(Nfa& nfa, StateId from, unsigned low, unsigned high, StateId to) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (unsigned digit = low; digit <= high; ++digit) {
    const auto byte = static_cast<unsigned char>(kDigits[digit]);
    nfa.add_bytes(from, byte, byte, to);
    if (digit < 10) continue;
    const auto capital = static_cast<unsigned char>(byte - 'a' + 'A');
    nfa.add_bytes(from, capital, capital, to);
  }
}

/// Any two hexadecimal digits.
StateId before_two_digits(Nfa& nfa, StateId to) {
  const StateId second = nfa.add_state();
  const StateId first = nfa.add_state();
  add_hex(nfa, first, 0, 15, second);
  add_hex(nfa, second, 0, 15, to);
  return first;
}

}  // namespace

void add_codes(Nfa& nfa, StateId from, const text::CodeSet& codes, StateId to, Encoding encoding) {
  RangeWriter writer(nfa, from, to);
  const bool escapes = encoding == Encoding::kJson;
  const text::CodeSet plain = escapes ? codes.without(escaped_codes()) : codes;
  for (const text::CodeRange& range : plain.ranges()) writer.add(range.first, range.last);
  if (!escapes) return;
  for (const text::CodeRange& range : escaped_codes().ranges()) {
    for (char32_t code = range.first; code <= range.last; ++code) {
      if (!codes.contains(code)) continue;
      nfa.add_text(from, encode(std::string(1, static_cast<char>(code)), encoding), to);
    }
  }
}

std::string encode(std::string_view text, Encoding encoding) {
  std::string valid;
  text::append_valid_utf8(valid, text, /*final=*/true);
  if (encoding == Encoding::kPlain) return valid;
  const std::string quoted = dump_json(Json(valid));
  return quoted.substr(1, quoted.size() - 2);
}

void add_json_character(Nfa& nfa, StateId from, StateId to) {
  add_codes(nfa, from, text::CodeSet::all_codes().without(escaped_codes()), to, Encoding::kPlain);
  const StateId escape = nfa.add_state();
  nfa.add_bytes(from, '\\', '\\', escape);
  for (const unsigned char letter : {'"', '\\', '/', 'b', 'f', 'n', 'r', 't'}) {
    nfa.add_bytes(escape, letter, letter, to);
  }
  const StateId digits = nfa.add_state();
  nfa.add_bytes(escape, 'u', 'u', digits);
  const StateId last_two = before_two_digits(nfa, to);
  const StateId last_three = nfa.add_state();
  add_hex(nfa, last_three, 0, 15, last_two);
  add_hex(nfa, digits, 0, 12, last_three);
  add_hex(nfa, digits, 14, 15, last_three);
  const StateId after_d = nfa.add_state();
  add_hex(nfa, digits, 13, 13, after_d);
  add_hex(nfa, after_d, 0, 7, last_two);
  // A surrogate pair: \ud800 … \udbff, then \udc00 … \udfff.
  const StateId between = nfa.add_state();
  add_hex(nfa, after_d, 8, 11, before_two_digits(nfa, between));
  const StateId low = nfa.add_state();
  const StateId low_d = nfa.add_state();
  nfa.add_text(between, "\\u", low);
  add_hex(nfa, low, 13, 13, low_d);
  add_hex(nfa, low_d, 12, 15, last_two);
}

}  // namespace kantha::grammar
