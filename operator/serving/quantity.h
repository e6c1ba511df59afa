#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "operator/serving/types.h"

/// Kubernetes quantities and percentages as numbers. Exact integer arithmetic; any thread.
/// Source: apimachinery resource.Quantity (decimal SI, binary and exponent suffixes).
namespace kantha::serving {

/// "500m" is 500, "2" is 2000, "2Gi" is 2147483648000. Up to 9 PB in base units.
/// kInvalidArgument: not a quantity (the text is shown); kOutOfRange: too large, or finer than
/// a thousandth.
Result<std::int64_t> quantity_milli(std::string_view text);

/// A quantity as whole base units (bytes), rounded up.
Result<std::int64_t> quantity_units(std::string_view text);

/// "25%" or "3". kInvalidArgument for anything else; signs and leading zeros are
/// refused.
Result<IntOrPercent> parse_int_or_percent(std::string_view text);

/// "3" or "25%".
std::string int_or_percent_text(const IntOrPercent& value);

/// The count that a value means of a total: percentages round down, but to at least 1 when both
/// the share and the total are above 0.
std::int64_t resolve(const IntOrPercent& value, std::int64_t total);

}  // namespace kantha::serving
