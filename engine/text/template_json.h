#pragma once

#include "base/json.h"
#include "engine/text/template_value.h"

/// JSON into template values and out of them.
namespace kantha::text {

/// `from_input` marks every string, keys too. kOutOfRange when nested too deeply.
Result<Value> value_from_json(const OrderedJson& json, bool from_input);

/// How json.dumps writes; the separators are Python's.
struct JsonStyle {
  bool ascii_only = false;
  bool sorted_keys = false;
  std::optional<std::size_t> indent;  ///< blanks a level; nothing: one line
  std::optional<std::string> item_separator;
  std::string key_separator = ": ";
};

/// kInvalidArgument for values that JSON has not, kOutOfRange for more than `bytes_max` bytes. The
/// text is marked as input when any string in it is.
Result<MarkedText> value_to_json(const Value& value, const JsonStyle& style, std::size_t bytes_max);

}  // namespace kantha::text
