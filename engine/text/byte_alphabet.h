#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// GPT-2's printable alphabet: every byte has one visible code point, so that tokens are text.
/// Printable Latin-1 stands for itself; the other 68 bytes become U+0100, U+0101, … in order.
/// Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
namespace kantha::text {

class ByteAlphabet {
 public:
  ByteAlphabet();
  /// UTF-8 of the code point that stands for a byte.
  const std::string& spelling(std::uint8_t byte) const { return spellings_[byte]; }
  /// The bytes that a token's text stands for; a text with a foreign code point stands for itself.
  std::string bytes_of(std::string_view token) const;

 private:
  std::array<std::string, 256> spellings_;
  std::array<std::int16_t, 0x144> bytes_;  ///< code point to byte; -1: not of the alphabet
};

}  // namespace kantha::text
