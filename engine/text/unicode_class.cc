#include "engine/text/unicode_class.h"

#include <algorithm>
#include <array>
#include <span>

#include "engine/text/unicode_ranges.h"

namespace kantha::text {
namespace {

bool contains(std::span<const CodeRange> ranges, char32_t code) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), code,
                       [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

bool is_space(char32_t code) {
  if (code <= 0x20) return code == 0x20 || (code >= 0x09 && code <= 0x0D);
  if (code < 0x1680) return code == 0x85 || code == 0xA0;
  return code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

CodeClass search_class(char32_t code) {
  if (is_space(code)) return CodeClass::kSpace;
  if (contains(letter_ranges(), code)) return CodeClass::kLetter;
  if (contains(number_ranges(), code)) return CodeClass::kNumber;
  return CodeClass::kOther;
}

/// The Latin, Greek, Cyrillic, Hebrew and Arabic letters of everyday text in one read.
constexpr std::size_t kDirect = 0x800;

const std::array<CodeClass, kDirect>& direct_classes() {
  static const std::array<CodeClass, kDirect> table = [] {
    std::array<CodeClass, kDirect> made{};
    for (std::size_t code = 0; code < kDirect; ++code) {
      made[code] = search_class(static_cast<char32_t>(code));
    }
    return made;
  }();
  return table;
}

}  // namespace

CodeClass code_class(char32_t code) {
  return code < kDirect ? direct_classes()[code] : search_class(code);
}

}  // namespace kantha::text
