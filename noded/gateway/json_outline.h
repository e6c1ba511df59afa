#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Where things stand in a JSON text, found without building a tree of it: a body of megabytes is
/// looked through in milliseconds and copied nowhere. Pure; any thread.
///
/// What stands inside of a value that nobody looks into is skipped, not checked. What is looked
/// into is read strictly, so that a text which is no JSON cannot become some by an edit at the
/// places given here.
namespace kantha::noded {

/// Bytes [begin, end) of a text.
struct JsonSpan {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::string_view in(std::string_view text) const { return text.substr(begin, end - begin); }
};

struct JsonMember {
  std::string name;  ///< unescaped
  JsonSpan value;
};

struct JsonObjectOutline {
  std::vector<JsonMember> members;
  std::size_t close = 0;  ///< where the closing brace stands

  /// The member's value, or nullptr.
  const JsonSpan* find(std::string_view name) const;
};

struct JsonArrayOutline {
  std::size_t count = 0;
  JsonSpan first;         ///< the first entry, when there is one
  std::size_t close = 0;  ///< where the closing bracket stands
};

/// The object that `span` holds, blanks around it allowed. nullopt when that is no object, holds a
/// name twice, or has more than 256 members.
std::optional<JsonObjectOutline> outline_object(std::string_view text, JsonSpan span);

/// The array that `span` holds; nullopt when that is no array.
std::optional<JsonArrayOutline> outline_array(std::string_view text, JsonSpan span);

}  // namespace kantha::noded
