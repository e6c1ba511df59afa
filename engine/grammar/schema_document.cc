#include "engine/grammar/schema_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace kantha::grammar {
namespace {

/// `%41` as `A`; nothing when a percent sign stands alone.
std::optional<std::string> without_percents(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    unsigned value = 0;
    const auto [end, failure] = std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16);
    if (failure != std::errc() || end != &text[i + 1] + 2) return std::nullopt;
    plain += static_cast<char>(value);
    i += 2;
  }
  return plain;
}

/// `~1` as `/` and `~0` as `~`.
std::string without_tildes(std::string_view token) {
  std::string plain;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      plain += token[++i] == '0' ? '~' : '/';
    } else {
      plain += token[i];
    }
  }
  return plain;
}

}  // namespace

Schemas together(Schemas schemas) {
  std::erase_if(schemas, [](Schema schema) {
    return (schema->is_boolean() && schema->get<bool>()) ||
           (schema->is_object() && schema->empty());
  });
  std::ranges::sort(schemas);
  schemas.erase(std::ranges::unique(schemas).begin(), schemas.end());
  return schemas;
}

Schema SchemaDocument::member(Schema parent, const std::string& key) {
  const Schema found = &*parent->find(key);
  paths_.try_emplace(found, path_of(parent) + "." + key);
  return found;
}

Schema SchemaDocument::element(Schema parent, std::size_t index) {
  const Schema found = &(*parent)[index];
  paths_.try_emplace(found, path_of(parent) + "[" + std::to_string(index) + "]");
  return found;
}

Result<Schema> SchemaDocument::step(Schema from, std::string_view token, Schema place) {
  const std::string name = without_tildes(token);
  if (from->is_object() && from->contains(name)) return member(from, name);
  std::size_t index = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool number = failure == std::errc() && end == name.data() + name.size();
  if (from->is_array() && number && index < from->size()) return element(from, index);
  return error(place, "there is nothing at " + place->get<std::string>().substr(0, 200));
}

Result<Schema> SchemaDocument::resolve(Schema place) {
  if (!place->is_string()) return error(place, "expected a string");
  const std::string_view text = place->get_ref<const std::string&>();
  const bool local = text.starts_with("#") && (text.size() == 1 || text[1] == '/');
  const auto pointer = local ? without_percents(text.substr(1)) : std::nullopt;
  if (!pointer) {
    return error(place, "only JSON pointers into the same schema are supported (\"#/$defs/name\")");
  }
  Schema at = root();
  for (std::size_t begin = 0; begin < pointer->size();) {
    const std::size_t end = std::min(pointer->find('/', begin + 1), pointer->size());
    TRY(at, step(at, std::string_view(*pointer).substr(begin + 1, end - begin - 1), place));
    begin = end;
  }
  return at;
}

Error SchemaDocument::error(Schema place, std::string_view what) const {
  const std::string& path = path_of(place);
  return invalid_argument((path + ": ").append(what), path);
}

unsigned type_of(const OrderedJson& value) {
  if (value.is_null()) return kNullType;
  if (value.is_boolean()) return kBooleanType;
  if (value.is_string()) return kStringType;
  if (value.is_array()) return kArrayType;
  if (value.is_object()) return kObjectType;
  if (value.is_number_integer()) return kIntegerType;
  const double number = value.get<double>();
  return std::trunc(number) == number ? kIntegerType : kFractionType;
}

unsigned type_named(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, unsigned>, 7> kNames{
      {{"null", kNullType},
       {"boolean", kBooleanType},
       {"integer", kIntegerType},
       {"number", kNumberType},
       {"string", kStringType},
       {"array", kArrayType},
       {"object", kObjectType}}};
  const auto found = std::ranges::find(kNames, name, &decltype(kNames)::value_type::first);
  return found == kNames.end() ? 0 : found->second;
}

bool same_value(const OrderedJson& a, const OrderedJson& b) {
  if (a.is_structured() != b.is_structured()) return false;
  return a.is_structured() ? Json(a) == Json(b) : a == b;
}

}  // namespace kantha::grammar
