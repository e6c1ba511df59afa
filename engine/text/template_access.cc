#include "engine/text/template_access.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

constexpr std::array<std::string_view, 47> kTextMethods = {
    "capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
    "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
    "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
    "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
    "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
    "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
    "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
    "swapcase",     "title",       "translate", "upper",      "zfill"};
constexpr std::array<std::string_view, 11> kDictMethods = {
    "clear", "copy",    "fromkeys",   "get",    "items", "keys",
    "pop",   "popitem", "setdefault", "update", "values"};
constexpr std::array<std::string_view, 11> kListMethods = {"append", "clear",   "copy",   "count",
                                                           "extend", "index",   "insert", "pop",
                                                           "remove", "reverse", "sort"};

std::span<const std::string_view> methods_of(const Value& value) {
  if (value.as_text() != nullptr) return kTextMethods;
  if (value.as_dict() != nullptr) return kDictMethods;
  if (value.as_list() != nullptr) return kListMethods;
  return {};
}

Value nothing(const Value& value, std::string_view name) {
  return Value::undefined("'" + std::string(value.type_name()) + " object' has no attribute '" +
                          std::string(name) + "'");
}

std::optional<Value> loop_attribute(const Loop& loop, std::string_view name) {
  const std::size_t count = loop.items->items.size();
  const auto number = [](std::size_t n) { return Value::integer(static_cast<std::int64_t>(n)); };
  const auto neighbour = [&](bool exists, std::size_t at) {
    return exists ? loop.items->items[at] : Value::undefined("the loop has no such item");
  };
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "revindex") return number(count - loop.index);
  if (name == "revindex0") return number(count - loop.index - 1);
  if (name == "first") return Value::boolean(loop.index == 0);
  if (name == "last") return Value::boolean(loop.index + 1 == count);
  if (name == "length") return number(count);
  if (name == "previtem") return neighbour(loop.index > 0, loop.index - 1);
  if (name == "nextitem") return neighbour(loop.index + 1 < count, loop.index + 1);
  return std::nullopt;
}

/// What has an attribute of the name without being a dict's entry.
std::optional<Value> plain_attribute(const Value& value, std::string_view name) {
  if (has_method(value, name)) {
    return Value(
        std::shared_ptr<const Method>(std::make_shared<Method>(Method{value, std::string(name)})));
  }
  if (const auto* loop = value.as<std::shared_ptr<const Loop>>())
    return loop_attribute(**loop, name);
  if (const auto* space = value.as<Namespace*>()) {
    const auto found = (*space)->values.find(std::string(name));
    if (found != (*space)->values.end()) return found->second;
  }
  return std::nullopt;
}

/// The place that a Python index means among `count`, if there is one.
std::optional<std::size_t> place_of(std::int64_t index, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<std::size_t>(index);
}

std::optional<Value> item_at(const Value& value, std::int64_t index) {
  if (const List* list = value.as_list()) {
    const auto place = place_of(index, list->items.size());
    if (place) return list->items[*place];
  }
  const MarkedText* text = value.as_text();
  if (text == nullptr) return std::nullopt;
  const auto place = place_of(index, count_code_points(text->bytes()));
  if (!place) return std::nullopt;
  std::size_t at = 0;
  for (std::size_t i = 0; i < *place; ++i) at += read_code_point(text->bytes(), at).length;
  return Value::text(text->slice(at, read_code_point(text->bytes(), at).length));
}

/// The indices that Python's slice takes of `count` items, in order.
std::vector<std::size_t> slice_places(std::size_t count, std::optional<std::int64_t> start,
                                      std::optional<std::int64_t> stop, std::int64_t step) {
  const auto size = static_cast<std::int64_t>(count);
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto bound = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
    if (!given) return otherwise;
    // As far below zero as below the size; INT64_MIN stays below either way.
    const std::int64_t at = *given < 0 ? *given + size : *given;
    return std::clamp(at, low, high);
  };
  std::int64_t at = bound(start, step > 0 ? low : high);
  const std::int64_t end = bound(stop, step > 0 ? high : low);
  std::vector<std::size_t> places;
  while (step > 0 ? at < end : at > end) {
    places.push_back(static_cast<std::size_t>(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return places;
}

Value text_slice(const MarkedText& text, std::optional<std::int64_t> start,
                 std::optional<std::int64_t> stop, std::int64_t step) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size();) {
    starts.push_back(at);
    at += read_code_point(text.bytes(), at).length;
  }
  starts.push_back(text.size());
  MarkedText out;
  for (const std::size_t place : slice_places(starts.size() - 1, start, stop, step)) {
    out.append(text, starts[place], starts[place + 1] - starts[place]);
  }
  return Value::text(std::move(out));
}

}  // namespace

bool has_method(const Value& value, std::string_view name) {
  const auto methods = methods_of(value);
  return std::find(methods.begin(), methods.end(), name) != methods.end();
}

Result<Value> attribute_of(const Value& value, std::string_view name) {
  if (value.is_undefined()) return unusable(value, "looked into");
  if (const auto plain = plain_attribute(value, name)) return *plain;
  if (const Dict* dict = value.as_dict()) {
    if (const Value* entry = dict->find(name)) return *entry;
  }
  return nothing(value, name);
}

Result<Value> item_of(const Value& value, const Value& index) {
  if (value.is_undefined()) return unusable(value, "looked into");
  if (const Dict* dict = value.as_dict()) {
    if (const Value* entry = dict->find(index)) return *entry;
  } else if (const auto place = index.as_integer()) {
    if (const auto item = item_at(value, *place)) return *item;
  }
  if (const MarkedText* name = index.as_text()) {
    if (const auto plain = plain_attribute(value, name->bytes())) return *plain;
    return nothing(value, name->bytes());
  }
  return Value::undefined("'" + std::string(value.type_name()) + " object' has no such element");
}

Result<Value> slice_of(const Value& value, std::optional<std::int64_t> start,
                       std::optional<std::int64_t> stop, std::int64_t step) {
  if (step == 0) return invalid_argument("slice step cannot be zero");
  if (const MarkedText* text = value.as_text()) return text_slice(*text, start, stop, step);
  const List* list = value.as_list();
  if (list == nullptr) return unusable(value, "sliced");
  std::vector<Value> items;
  for (const std::size_t place : slice_places(list->items.size(), start, stop, step)) {
    items.push_back(list->items[place]);
  }
  return Value::list(std::move(items), list->is_tuple);
}

}  // namespace kantha::text
