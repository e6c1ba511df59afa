#include "engine/grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "engine/grammar/string_formats.h"

namespace kantha::grammar {
namespace {

/// One keyword that is being applied.
struct Keyword {
  SchemaDocument& document;
  Schema schema;  ///< that has it
  std::string name;
  Schema value;
  Shape& shape;

  Error wrong(std::string_view expected) const {
    std::string what = "expected ";
    what.append(expected).append(", got ").append(value->type_name());
    return document.error(value, what);
  }
  void mention(unsigned types) const { shape.mentioned |= types; }
  void refuse(unsigned types, std::string what) const {
    shape.refusals.push_back({.types = types, .place = value, .what = std::move(what)});
  }
};

using Handler = Status (*)(const Keyword&);

Status apply_type(const Keyword& keyword) {
  const auto bits_of = [](const OrderedJson& name) {
    return name.is_string() ? type_named(name.get_ref<const std::string&>()) : 0U;
  };
  unsigned types = bits_of(*keyword.value);
  if (keyword.value->is_array()) {
    for (const OrderedJson& name : *keyword.value) {
      if (bits_of(name) == 0) types = 0;
      if (bits_of(name) == 0) break;
      types |= bits_of(name);
    }
  }
  if (types == 0) {
    return keyword.wrong("null, boolean, integer, number, string, array, object or a list of such");
  }
  keyword.shape.types &= types;
  keyword.shape.typed = true;
  return ok_status();
}

Status restrict_values(const Keyword& keyword, std::vector<OrderedJson> values) {
  auto& known = keyword.shape.values;
  if (!known) {
    known = std::move(values);
    return ok_status();
  }
  std::erase_if(*known, [&](const OrderedJson& value) {
    return std::ranges::none_of(values,
                                [&](const OrderedJson& other) { return same_value(value, other); });
  });
  return ok_status();
}

Status apply_enum(const Keyword& keyword) {
  if (!keyword.value->is_array()) return keyword.wrong("an array");
  return restrict_values(keyword, {keyword.value->begin(), keyword.value->end()});
}

Status apply_const(const Keyword& keyword) { return restrict_values(keyword, {*keyword.value}); }

template <bool kLower, bool kExclusive>
Status apply_bound(const Keyword& keyword) {
  if (!keyword.value->is_number()) return keyword.wrong("a number");
  keyword.mention(kNumberType);
  keyword.shape.bounds.push_back(
      {.value = keyword.value, .lower = kLower, .exclusive = kExclusive});
  return ok_status();
}

Status apply_multiple(const Keyword& keyword) {
  if (!keyword.value->is_number() || keyword.value->get<double>() <= 0) {
    return keyword.wrong("a number above 0");
  }
  keyword.mention(kNumberType);
  keyword.shape.multiples.push_back(keyword.value);
  return ok_status();
}

template <std::size_t Shape::* kField, unsigned kTypes>
Status apply_least(const Keyword& keyword) {
  TRY(const std::size_t count, read_count(keyword.value, keyword.document));
  keyword.mention(kTypes);
  keyword.shape.*kField = std::max(keyword.shape.*kField, count);
  return ok_status();
}

template <std::optional<std::size_t> Shape::* kField, unsigned kTypes>
Status apply_most(const Keyword& keyword) {
  TRY(const std::size_t count, read_count(keyword.value, keyword.document));
  keyword.mention(kTypes);
  keyword.shape.*kField = std::min((keyword.shape.*kField).value_or(count), count);
  return ok_status();
}

Status apply_pattern(const Keyword& keyword) {
  if (!keyword.value->is_string()) return keyword.wrong("a string");
  keyword.mention(kStringType);
  keyword.shape.patterns.push_back(keyword.value);
  return ok_status();
}

Status apply_format(const Keyword& keyword) {
  if (!keyword.value->is_string()) return keyword.wrong("a string");
  const std::string& name = keyword.value->get_ref<const std::string&>();
  const auto regex = format_regex(name);
  if (!regex) return ok_status();
  keyword.mention(kStringType);
  if (regex->empty()) {
    keyword.refuse(kStringType, "format \"" + name + "\" is not supported");
  } else {
    keyword.shape.formats.push_back(keyword.value);
  }
  return ok_status();
}

/// All that one schema says of items or of keys comes together, with its first such keyword.
bool is_first(const Keyword& keyword, std::initializer_list<std::string_view> family) {
  for (const auto& [name, value] : keyword.schema->items()) {
    if (std::ranges::find(family, name) != family.end()) return name == keyword.name;
  }
  return true;
}

Status check_schema(Schema place, const SchemaDocument& document) {
  if (place->is_object() || place->is_boolean()) return ok_status();
  return document.error(place, "expected a schema (an object or a boolean)");
}

Status apply_items(const Keyword& keyword) {
  keyword.mention(kArrayType);
  if (!is_first(keyword, {"prefixItems", "items"})) return ok_status();
  ArrayPart part;
  if (keyword.schema->contains("prefixItems")) {
    const Schema prefix = keyword.document.member(keyword.schema, "prefixItems");
    if (!prefix->is_array()) return keyword.document.error(prefix, "expected an array");
    for (std::size_t i = 0; i < prefix->size(); ++i) {
      part.prefix.push_back(keyword.document.element(prefix, i));
      TRY_OK(check_schema(part.prefix.back(), keyword.document));
    }
  }
  if (keyword.schema->contains("items")) {
    part.items = keyword.document.member(keyword.schema, "items");
    if (part.items->is_array()) {
      return keyword.document.error(part.items, "an array of schemas is called prefixItems now");
    }
    TRY_OK(check_schema(part.items, keyword.document));
  }
  keyword.shape.arrays.push_back(std::move(part));
  return ok_status();
}

Status read_members(const Keyword& keyword, const char* name,
                    std::vector<std::pair<std::string, Schema>>& members) {
  if (!keyword.schema->contains(name)) return ok_status();
  const Schema object = keyword.document.member(keyword.schema, name);
  if (!object->is_object()) return keyword.document.error(object, "expected an object");
  for (const auto& [key, value] : object->items()) {
    const Schema place = keyword.document.member(object, key);
    TRY_OK(check_schema(place, keyword.document));
    members.emplace_back(key, place);
  }
  return ok_status();
}

Status apply_properties(const Keyword& keyword) {
  keyword.mention(kObjectType);
  if (!is_first(keyword, {"properties", "patternProperties", "additionalProperties"})) {
    return ok_status();
  }
  ObjectPart part;
  TRY_OK(read_members(keyword, "properties", part.properties));
  TRY_OK(read_members(keyword, "patternProperties", part.patterns));
  if (keyword.schema->contains("additionalProperties")) {
    part.additional = keyword.document.member(keyword.schema, "additionalProperties");
    TRY_OK(check_schema(part.additional, keyword.document));
  }
  keyword.shape.objects.push_back(std::move(part));
  return ok_status();
}

Status apply_required(const Keyword& keyword) {
  if (!keyword.value->is_array()) return keyword.wrong("an array of strings");
  keyword.mention(kObjectType);
  for (const OrderedJson& name : *keyword.value) {
    if (!name.is_string()) return keyword.wrong("an array of strings");
    auto& required = keyword.shape.required;
    const std::string& text = name.get_ref<const std::string&>();
    if (std::ranges::find(required, text) == required.end()) required.push_back(text);
  }
  return ok_status();
}

Status apply_property_names(const Keyword& keyword) {
  TRY_OK(check_schema(keyword.value, keyword.document));
  keyword.mention(kObjectType);
  keyword.shape.property_names.push_back(keyword.value);
  return ok_status();
}

Status apply_unique(const Keyword& keyword) {
  if (!keyword.value->is_boolean()) return keyword.wrong("a boolean");
  keyword.mention(kArrayType);
  if (keyword.value->get<bool>()) keyword.refuse(kArrayType, "uniqueItems is not supported");
  return ok_status();
}

template <unsigned kTypes>
Status refuse_keyword(const Keyword& keyword) {
  keyword.mention(kTypes == kAllTypes ? 0 : kTypes);
  keyword.refuse(kTypes, keyword.name + " is not supported");
  return ok_status();
}

const std::map<std::string, Handler, std::less<>>& handlers() {
  static const std::map<std::string, Handler, std::less<>> table{
      {"type", apply_type},
      {"enum", apply_enum},
      {"const", apply_const},
      {"minimum", apply_bound<true, false>},
      {"exclusiveMinimum", apply_bound<true, true>},
      {"maximum", apply_bound<false, false>},
      {"exclusiveMaximum", apply_bound<false, true>},
      {"multipleOf", apply_multiple},
      {"minLength", apply_least<&Shape::length_min, kStringType>},
      {"maxLength", apply_most<&Shape::length_max, kStringType>},
      {"pattern", apply_pattern},
      {"format", apply_format},
      {"items", apply_items},
      {"prefixItems", apply_items},
      {"minItems", apply_least<&Shape::items_min, kArrayType>},
      {"maxItems", apply_most<&Shape::items_max, kArrayType>},
      {"uniqueItems", apply_unique},
      {"properties", apply_properties},
      {"patternProperties", apply_properties},
      {"additionalProperties", apply_properties},
      {"required", apply_required},
      {"propertyNames", apply_property_names},
      {"minProperties", apply_least<&Shape::properties_min, kObjectType>},
      {"maxProperties", apply_most<&Shape::properties_max, kObjectType>},
      {"not", refuse_keyword<kAllTypes>},
      {"if", refuse_keyword<kAllTypes>},
      {"$dynamicRef", refuse_keyword<kAllTypes>},
      {"$recursiveRef", refuse_keyword<kAllTypes>},
      {"contains", refuse_keyword<kArrayType>},
      {"unevaluatedItems", refuse_keyword<kArrayType>},
      {"additionalItems", refuse_keyword<kArrayType>},
      {"unevaluatedProperties", refuse_keyword<kObjectType>},
      {"dependentRequired", refuse_keyword<kObjectType>},
      {"dependentSchemas", refuse_keyword<kObjectType>},
      {"dependencies", refuse_keyword<kObjectType>},
  };
  return table;
}

}  // namespace

Result<std::size_t> read_count(Schema place, const SchemaDocument& document) {
  constexpr double kMost = 1e15;
  const double value = place->is_number() ? place->get<double>() : -1;
  if (value < 0 || value > kMost || std::trunc(value) != value) {
    return document.error(place, "expected an integer from 0 on");
  }
  return static_cast<std::size_t>(value);
}

Status apply_keyword(Schema schema, const std::string& keyword, SchemaDocument& document,
                     Shape& shape) {
  const auto handler = handlers().find(keyword);
  if (handler == handlers().end()) return ok_status();
  const Schema value = document.member(schema, keyword);
  return handler->second({document, schema, keyword, value, shape});
}

}  // namespace kantha::grammar
