#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "engine/text/unicode_ranges.h"

/// Sets of code points, as character classes of patterns need them.
namespace kantha::text {

inline constexpr char32_t kCodeMax = 0x10FFFF;
/// Stands for a byte that is not part of valid UTF-8: in no named class, so in every inverted one.
inline constexpr char32_t kBadSign = 0x110000;

/// Ranges that rise and do not touch. Surrogates may be in it; texts never have them. Value type.
class CodeSet {
 public:
  CodeSet() = default;
  CodeSet(std::initializer_list<CodeRange> ranges);
  explicit CodeSet(std::span<const CodeRange> ranges);
  CodeSet(char32_t first, char32_t last) : ranges_{{first, last}} {}
  /// 0..kCodeMax.
  static CodeSet all_codes() { return {0, kCodeMax}; }

  /// At the cost of moving the ranges behind it, so that a class may grow sign by sign.
  void add(char32_t first, char32_t last);
  void add(const CodeSet& other);
  /// Everything else of 0..kBadSign.
  CodeSet inverted() const;
  CodeSet common_with(const CodeSet& other) const;
  CodeSet without(const CodeSet& other) const;
  bool contains(char32_t code) const;
  bool empty() const { return ranges_.empty(); }
  std::span<const CodeRange> ranges() const { return ranges_; }

 private:
  std::vector<CodeRange> ranges_;
};

}  // namespace kantha::text
