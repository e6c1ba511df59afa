#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

/// JSON from outside, read within limits.
namespace kantha {

using Json = nlohmann::json;
/// Keeps the order of keys; templates and rendered objects need it.
using OrderedJson = nlohmann::ordered_json;

/// Bounds on foreign JSON; a text beyond them is an error that names the limit.
struct JsonLimits {
  std::size_t depth_max = 64;
  std::size_t nodes_max = 100'000;
  std::size_t bytes_max = 8u << 20;
};

/// Parses one JSON text. Duplicate keys, trailing text, invalid UTF-8, unpaired surrogates, NaN and
/// numbers beyond double are kInvalidArgument with the byte offset. Never throws. Any thread.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// The same, keys in the order of the text.
Result<OrderedJson> parse_ordered_json(std::string_view text, const JsonLimits& limits = {});

/// Compact text; invalid UTF-8 inside strings becomes U+FFFD, so that it never throws. Any thread.
std::string dump_json(const Json& json);
std::string dump_json(const OrderedJson& json);

}  // namespace kantha
