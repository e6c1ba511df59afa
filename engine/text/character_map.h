#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// SentencePiece's precompiled_charsmap: which stretches of a text are replaced before anything
/// else.
namespace kantha::text {

/// Layout: u32 length in bytes of a double array (little-endian units of 32 bits), the array, then
/// replacements that end with a zero byte. A unit holds a label in bits 0–7 (and 31), whether a
/// value hangs from it in bit 8, and the distance to its children in bits 10–30, times 256 when bit
/// 9 is set. Source: S. Yata, "darts-clone"; Google's sentencepiece, normalizer.cc. Immutable.
class CharacterMap {
 public:
  /// An empty `data` maps nothing. kInvalidArgument when lengths do not fit.
  static Result<CharacterMap> read(std::string_view data);
  /// The text with the longest mapped stretch at each place replaced. What is not UTF-8 becomes
  /// U+FFFD. Linear: no stretch is longer than the array is deep. Any thread.
  std::string apply(std::string_view text) const;

 private:
  struct Match {
    std::size_t length = 0;  ///< bytes of the text; 0: none
    std::uint32_t value = 0;
  };
  Match longest(std::string_view text, std::size_t at) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace kantha::text
