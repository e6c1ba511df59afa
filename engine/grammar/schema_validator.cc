#include "engine/grammar/schema_validator.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "engine/grammar/schema_keywords.h"
#include "engine/grammar/string_formats.h"
#include "engine/text/utf8.h"

namespace kantha::grammar {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

/// One value under one keyword.
struct SchemaValidator::Subject {
  const OrderedJson& value;
  Schema schema;
  std::string keyword;
  Schema argument;
  std::size_t depth;
};

Result<bool> SchemaValidator::matches(const std::string& text, const std::string& pattern,
                                      const std::string& path, RegexMatch match) {
  const auto known = regexes_.find({pattern, match});
  if (known != regexes_.end()) return known->second.accepts(text);
  TRY(Dfa dfa, compile_regex(pattern, match, Encoding::kPlain, path, budget_));
  return regexes_.emplace(std::pair(pattern, match), std::move(dfa)).first->second.accepts(text);
}

// NOLINTBEGIN(misc-no-recursion): the depth is limited
Result<bool> SchemaValidator::check(const OrderedJson& value, Schema schema, std::size_t depth) {
  TRY_OK(budget_.work(8));
  TRY_OK(budget_.check_depth(depth, document_.path_of(schema)));
  if (schema->is_boolean()) return schema->get<bool>();
  if (!schema->is_object()) {
    return document_.error(schema, "expected a schema (an object or a boolean)");
  }
  // Malformed keywords are errors whatever the value is.
  Shape ignored;
  for (const auto& [keyword, argument] : schema->items()) {
    TRY_OK(apply_keyword(schema, keyword, document_, ignored));
    TRY(const bool valid,
        check_keyword({value, schema, keyword, document_.member(schema, keyword), depth}));
    if (!valid) return false;
  }
  return true;
}

Result<bool> SchemaValidator::check_keyword(const Subject& subject) {
  const OrderedJson& value = subject.value;
  if (subject.keyword == "type") {
    const auto fits = [&](const OrderedJson& name) {
      return (type_of(value) & type_named(name.get_ref<const std::string&>())) != 0;
    };
    if (subject.argument->is_string()) return fits(*subject.argument);
    return std::ranges::any_of(*subject.argument, fits);
  }
  if (subject.keyword == "const") return same_value(value, *subject.argument);
  if (subject.keyword == "enum") {
    return std::ranges::any_of(*subject.argument,
                               [&](const OrderedJson& one) { return same_value(value, one); });
  }
  if (is_one_of(subject.keyword, {"$ref", "allOf", "anyOf", "oneOf", "not", "if"})) {
    return check_in_place(subject);
  }
  if (is_one_of(subject.keyword, {"$dynamicRef", "$recursiveRef", "unevaluatedItems",
                                  "unevaluatedProperties", "additionalItems", "dependencies"})) {
    return document_.error(subject.argument, subject.keyword + " is not supported");
  }
  if (value.is_number()) return check_number(subject);
  if (value.is_string()) return check_string(subject);
  if (value.is_array()) return check_array(subject);
  if (value.is_object()) return check_object(subject);
  return true;
}

Result<std::size_t> SchemaValidator::count_valid(const Subject& subject) {
  std::size_t count = 0;
  if (!subject.argument->is_array()) {
    return document_.error(subject.argument, "expected a list of schemas");
  }
  for (std::size_t i = 0; i < subject.argument->size(); ++i) {
    TRY(const bool valid,
        check(subject.value, document_.element(subject.argument, i), subject.depth + 1));
    count += valid ? 1 : 0;
  }
  return count;
}

Result<bool> SchemaValidator::check_in_place(const Subject& subject) {
  const std::size_t depth = subject.depth + 1;
  if (subject.keyword == "$ref") {
    TRY(const Schema target, document_.resolve(subject.argument));
    return check(subject.value, target, depth);
  }
  if (subject.keyword == "not") {
    TRY(const bool valid, check(subject.value, subject.argument, depth));
    return !valid;
  }
  if (subject.keyword == "if") {
    TRY(const bool valid, check(subject.value, subject.argument, depth));
    const char* branch = valid ? "then" : "else";
    if (!subject.schema->contains(branch)) return true;
    return check(subject.value, document_.member(subject.schema, branch), depth);
  }
  TRY(const std::size_t count, count_valid(subject));
  if (subject.keyword == "allOf") return count == subject.argument->size();
  return subject.keyword == "anyOf" ? count > 0 : count == 1;
}

Result<bool> SchemaValidator::check_number(const Subject& subject) {
  const OrderedJson& value = subject.value;
  const OrderedJson& bound = *subject.argument;
  if (subject.keyword == "minimum") return value >= bound;
  if (subject.keyword == "exclusiveMinimum") return value > bound;
  if (subject.keyword == "maximum") return value <= bound;
  if (subject.keyword == "exclusiveMaximum") return value < bound;
  if (subject.keyword != "multipleOf") return true;
  if (value.is_number_integer() && bound.is_number_integer()) {
    return value.get<std::int64_t>() % bound.get<std::int64_t>() == 0;
  }
  return std::fmod(value.get<double>(), bound.get<double>()) == 0;
}

Result<bool> SchemaValidator::check_string(const Subject& subject) {
  const std::string& text = subject.value.get_ref<const std::string&>();
  const std::string& path = document_.path_of(subject.argument);
  if (subject.keyword == "minLength" || subject.keyword == "maxLength") {
    TRY(const std::size_t count, read_count(subject.argument, document_));
    const std::size_t length = text::count_code_points(text);
    return subject.keyword == "minLength" ? length >= count : length <= count;
  }
  if (subject.keyword == "pattern") {
    return matches(text, subject.argument->get<std::string>(), path);
  }
  if (subject.keyword == "format") {
    const auto regex = format_regex(subject.argument->get_ref<const std::string&>());
    if (!regex || regex->empty()) return true;
    return matches(text, std::string(*regex), path, RegexMatch::kWhole);
  }
  return true;
}

Result<bool> SchemaValidator::check_array(const Subject& subject) {
  const OrderedJson& array = subject.value;
  if (subject.keyword == "minItems" || subject.keyword == "maxItems") {
    TRY(const std::size_t count, read_count(subject.argument, document_));
    return subject.keyword == "minItems" ? array.size() >= count : array.size() <= count;
  }
  if (subject.keyword == "uniqueItems" && subject.argument->get<bool>()) {
    for (std::size_t i = 0; i < array.size(); ++i) {
      TRY_OK(budget_.work(array.size()));
      for (std::size_t k = 0; k < i; ++k) {
        if (same_value(array[i], array[k])) return false;
      }
    }
    return true;
  }
  if (subject.keyword == "contains") {
    return document_.error(subject.argument, "contains is not supported");
  }
  if (subject.keyword != "items" && subject.keyword != "prefixItems") return true;
  const bool prefix = subject.keyword == "prefixItems";
  std::size_t first = 0;
  if (!prefix && subject.schema->contains("prefixItems")) {
    first = subject.schema->find("prefixItems")->size();
  }
  for (std::size_t i = first; i < array.size(); ++i) {
    if (prefix && i >= subject.argument->size()) break;
    const Schema schema = prefix ? document_.element(subject.argument, i) : subject.argument;
    TRY(const bool valid, check(array[i], schema, subject.depth + 1));
    if (!valid) return false;
  }
  return true;
}

/// A member under properties, patternProperties or additionalProperties, by the keyword.
Result<bool> SchemaValidator::check_member(const Subject& subject, const std::string& key) {
  const OrderedJson& value = *subject.value.find(key);
  if (subject.keyword == "properties") {
    if (!subject.argument->contains(key)) return true;
    return check(value, document_.member(subject.argument, key), subject.depth + 1);
  }
  bool matched = false;
  const auto patterns = subject.schema->find("patternProperties");
  if (patterns != subject.schema->end() && patterns->is_object()) {
    const Schema object = document_.member(subject.schema, "patternProperties");
    for (const auto& [pattern, schema] : object->items()) {
      TRY(const bool here, matches(key, pattern, document_.path_of(object)));
      matched = matched || here;
      if (!here || subject.keyword != "patternProperties") continue;
      TRY(const bool valid, check(value, document_.member(object, pattern), subject.depth + 1));
      if (!valid) return false;
    }
  }
  if (subject.keyword == "patternProperties" || matched) return true;
  const auto listed = subject.schema->find("properties");
  if (listed != subject.schema->end() && listed->contains(key)) return true;
  return check(value, subject.argument, subject.depth + 1);
}

Result<bool> SchemaValidator::check_object(const Subject& subject) {
  const OrderedJson& object = subject.value;
  if (subject.keyword == "required") {
    return std::ranges::all_of(*subject.argument, [&](const OrderedJson& name) {
      return object.contains(name.get_ref<const std::string&>());
    });
  }
  if (subject.keyword == "minProperties" || subject.keyword == "maxProperties") {
    TRY(const std::size_t count, read_count(subject.argument, document_));
    return subject.keyword == "minProperties" ? object.size() >= count : object.size() <= count;
  }
  if (is_one_of(subject.keyword, {"dependentRequired", "dependentSchemas"})) {
    return document_.error(subject.argument, subject.keyword + " is not supported");
  }
  const bool names = subject.keyword == "propertyNames";
  if (!names &&
      !is_one_of(subject.keyword, {"properties", "patternProperties", "additionalProperties"})) {
    return true;
  }
  for (const auto& [key, member] : object.items()) {
    bool valid = true;
    if (names) {
      TRY(valid, check(OrderedJson(key), subject.argument, subject.depth + 1));
    } else {
      TRY(valid, check_member(subject, key));
    }
    if (!valid) return false;
  }
  return true;
}
// NOLINTEND(misc-no-recursion)

}  // namespace kantha::grammar
