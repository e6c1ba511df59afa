#pragma once

#include <string>

#include "base/json.h"

/// Lenient reading of JSON that need not be as it should: no value of the right type is no text.
/// For what must be refused with its path use json_fields.h. Any thread.
namespace kantha {

/// The string under `name`; empty when `json` is no object, or has no string there.
inline std::string text_at(const Json& json, const char* name) {
  if (!json.is_object()) return {};
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The same in the object under `outer`, as in text_at(pod, "metadata", "uid").
inline std::string text_at(const Json& json, const char* outer, const char* name) {
  if (!json.is_object()) return {};
  const auto found = json.find(outer);
  return found != json.end() ? text_at(*found, name) : std::string();
}

}  // namespace kantha
