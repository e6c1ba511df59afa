#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "operator/serving/types.h"

/// Reads one object's fields and notes every problem instead of stopping at the first, because a
/// person who edits a file wants to see all of them at once. (JsonFields of base stops: it answers
/// requests.) Each call leaves its target alone when the field is absent, null or wrong. One
/// thread.
namespace kantha::serving {

class FieldReader {
 public:
  /// `json` must outlive the reader; null counts as an empty object, other types are a problem.
  FieldReader(const Json& json, std::string path, Problems& problems);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const;
  /// The value, or nullptr when absent or null.
  const Json* find(std::string_view name) const;
  /// Notes each key that is not in `names`, with the nearest name as a suggestion.
  void check_known(std::initializer_list<std::string_view> names) const;
  /// Notes "is required" when the field is absent or null.
  void require(std::string_view name) const;

  void string(std::string_view name, std::string& out) const;
  void boolean(std::string_view name, bool& out) const;
  void integer(std::string_view name, std::int64_t& out) const;
  void integer(std::string_view name, std::optional<std::int64_t>& out) const;
  /// Integers are numbers too.
  void number(std::string_view name, double& out) const;
  /// A quantity's text; a plain number is taken as its decimal text, as Kubernetes does.
  void quantity(std::string_view name, std::string& out) const;
  /// 2 or "25%".
  void int_or_percent(std::string_view name, IntOrPercent& out) const;
  /// A list of texts, at most `count_max`.
  void strings(std::string_view name, std::size_t count_max, std::vector<std::string>& out) const;
  void string_map(std::string_view name, std::map<std::string, std::string>& out) const;
  /// A nested object, nullopt when absent.
  std::optional<FieldReader> object(std::string_view name) const;
  /// One reader for each entry of a list of objects, at most `count_max`.
  std::vector<FieldReader> objects(std::string_view name, std::size_t count_max) const;

  void note(std::string_view name, std::string message) const;

 private:
  /// The list, nullptr when absent, no list or too long, which is noted.
  const Json* list(std::string_view name, std::size_t count_max) const;

  const Json* json_;
  std::string path_;
  Problems* problems_;
  bool wrong_ = false;  ///< not an object, which was noted: what it lacks is no news
};

/// The name in `names` that is a few edits (at most a third of its letters, or two) from `text`, or
/// empty.
std::string nearest_name(std::string_view text, std::initializer_list<std::string_view> names);

/// A value as a message shows it: `"two"`, 3.5, true, null, "an object", "a list".
std::string shown_value(const Json& value);

}  // namespace kantha::serving
