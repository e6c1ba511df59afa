#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/text/utf8.h"

/// Texts that make_encoding_digests.py makes in the same way, so that none has to be stored.
namespace kantha::text {

/// The text of one number: a few to some dozens of words, numbers, signs, blanks and code points of
/// many scripts, one after the other.
class GeneratedText {
 public:
  explicit GeneratedText(std::uint64_t number) : state_(number * 0xD1342543DE82EF95u + 1) {}

  std::string make() {
    std::string text;
    for (std::uint64_t parts = 1 + below(24); parts > 0; --parts) add_part(text);
    return text;
  }

 private:
  static constexpr std::array<std::string_view, 28> kWords = {
      "the",       "Hello",      "world",      "don't",   "WE'LL",
      "camelCase", "HTTPServer", "naïve",      "Straße",  "x",
      "I",         "of",         "__init__",   "foo_bar", "été",
      "Москва",    "中文",       "こんにちは", "한국어",  "नमस्ते",
      "ไทย",       "شكرا",       "def f(x):",  "return",  "https://a.b/c?d=e",
      "</s>",      "\u2581",     "e\u0301"};
  static constexpr std::array<std::string_view, 12> kBlanks = {
      " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n", "\u00a0", "\u3000"};
  static constexpr std::array<std::string_view, 16> kSigns = {
      ".",  ",",  "!", "?!", "...", "(", ")", "->",
      "==", "{}", "'", "\"", "$",   "€", "…", "👩‍👧"};
  struct Range {
    std::uint32_t first;
    std::uint32_t count;
  };
  static constexpr std::array<Range, 10> kRanges = {{{0xA1, 0x200},
                                                     {0x370, 0x100},
                                                     {0x400, 0x100},
                                                     {0x5D0, 0x1A},
                                                     {0x900, 0x80},
                                                     {0x2000, 0x300},
                                                     {0x3040, 0xC0},
                                                     {0x4E00, 0x5000},
                                                     {0xAC00, 0x2BA0},
                                                     {0x1F300, 0x400}}};

  /// splitmix64 (Steele, Lea, Flood, 2014).
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = (state_ ^ (state_ >> 30U)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31U);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

  void add_part(std::string& text) {
    const std::uint64_t kind = below(100);
    if (kind < 40) {
      text += kWords[below(kWords.size())];
    } else if (kind < 62) {
      text += kBlanks[below(kBlanks.size())];
    } else if (kind < 70) {
      text += std::to_string(below(10'000'000));
    } else if (kind < 80) {
      text += kSigns[below(kSigns.size())];
    } else if (kind < 90) {
      const Range range = kRanges[below(kRanges.size())];
      append_code_point(text, static_cast<char32_t>(range.first + below(range.count)));
    } else {
      text.push_back(static_cast<char>(0x20 + below(95)));
    }
  }

  std::uint64_t state_;
};

}  // namespace kantha::text
