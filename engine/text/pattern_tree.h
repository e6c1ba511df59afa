#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/code_set.h"

/// Splitting patterns, read. Internal to split_pattern.
namespace kantha::text {

enum class PatternKind : std::uint8_t {
  kSet,       ///< one sign of `set`
  kAhead,     ///< nothing, when the next sign is of `set`, or there is none and `at_end`
  kSequence,  ///< parts, one after the other; none: nothing
  kChoice,    ///< the first of the parts that fits
  kRepeat,    ///< parts[0], count_min to count_max times, as often as possible
};

inline constexpr std::int32_t kEndless = -1;

struct PatternNode {
  PatternKind kind = PatternKind::kSequence;
  CodeSet set = {};
  bool at_end = false;
  std::vector<PatternNode> parts = {};
  std::int32_t count_min = 0;
  std::int32_t count_max = kEndless;
  bool possessive = false;  ///< kRepeat: gives nothing back
};

/// kInvalidArgument names the place of a mistake; kUnimplemented what is not of the subset that
/// split_pattern.h describes.
Result<PatternNode> parse_pattern(std::string_view source);

}  // namespace kantha::text
