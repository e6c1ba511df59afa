#pragma once

#include <cstdint>

/// Kinds of code points, as the splitters of byte-level tokenizers tell them apart. Any thread.
namespace kantha::text {

enum class CodeClass : std::uint8_t {
  kLetter,  ///< \p{L}
  kNumber,  ///< \p{N}
  kSpace,   ///< \s: Unicode's White_Space
  kOther,   ///< the rest, combining marks among it
};

/// Unicode 16, as the reference tokenizer has it.
CodeClass code_class(char32_t code);

}  // namespace kantha::text
