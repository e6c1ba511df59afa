#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/text/code_set.h"
#include "engine/text/utf8.h"

/// Sorts code points into the few classes that a pattern can tell apart.
namespace kantha::text {

/// One sign of a text: a code point, or a byte that is not part of one.
struct Sign {
  std::uint8_t sign_class = 0;
  std::uint8_t length = 1;  ///< bytes
};

/// Two code points have one class when no set holds one and not the other. A table of pages, equal
/// pages stored once: a look-up is two reads. Immutable; any thread.
class SignClasses {
 public:
  static constexpr std::size_t kCountMax = 255;

  /// Classes beyond kCountMax are counted but not told apart: see count().
  explicit SignClasses(std::span<const CodeSet> sets);

  std::size_t count() const { return samples_.size(); }
  /// A code point of the class.
  char32_t sample(std::size_t sign_class) const { return samples_[sign_class]; }

  /// The sign at `at`, which must be inside the text.
  Sign at(std::string_view text, std::size_t at) const {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) return {ascii_[byte], 1};
    const CodePoint point = read_code_point(text, at);
    if (point.state != Utf8State::kComplete) return {bad_, 1};
    return {of(point.code), point.length};
  }

 private:
  static constexpr std::size_t kPage = 256;

  std::uint8_t of(char32_t code) const { return pages_[page_starts_[code / kPage] + code % kPage]; }
  void fill_pages(std::span<const CodeRange> ranges, std::span<const std::uint8_t> classes);

  std::vector<char32_t> samples_;
  std::array<std::uint8_t, 128> ascii_{};
  std::uint8_t bad_ = 0;
  std::array<std::uint32_t, kBadSign / kPage> page_starts_{};
  std::vector<std::uint8_t> pages_;
};

}  // namespace kantha::text
