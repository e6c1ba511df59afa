#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

/// Typed reading of a JSON object from outside: each wrong type or range is kInvalidArgument whose
/// `field` is the full path ("messages[2].content") and whose message names the value's type and
/// the limit. null counts as absent. Any thread.
namespace kantha {

/// A view of one JSON object and where it stands in the document.
class JsonFields {
 public:
  /// `json` must be an object, else every call answers with that error; it must outlive this view.
  JsonFields(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  /// "path.name", or "name" at the root.
  std::string path_of(std::string_view name) const;
  /// The raw value, or nullptr when absent or null.
  const Json* find(std::string_view name) const;
  /// Error unless the document's value is an object.
  Status check_object() const;
  /// Error that names the first key which is not in `known`.
  Status check_known(std::initializer_list<std::string_view> known) const;

  Result<std::optional<std::string>> string(std::string_view name) const;
  Result<std::optional<bool>> boolean(std::string_view name) const;
  /// 3 and 3.0 are integers, 3.5 and "3" are not.
  Result<std::optional<std::int64_t>> integer(std::string_view name, std::int64_t min,
                                              std::int64_t max) const;
  /// Finite, in [min, max].
  Result<std::optional<double>> number(std::string_view name, double min, double max) const;
  /// An array of strings, at most `count_max`.
  Result<std::optional<std::vector<std::string>>> strings(std::string_view name,
                                                          std::size_t count_max) const;
  /// A nested object, absent as nullopt.
  Result<std::optional<JsonFields>> object(std::string_view name) const;
  /// An array, absent as nullptr.
  Result<const Json*> array(std::string_view name, std::size_t count_max) const;

 private:
  const Json& json_;
  std::string path_;
};

/// "null", "a boolean", "an integer", "a number", "a string", "an array", "an object".
std::string_view json_type_name(const Json& json);

}  // namespace kantha
