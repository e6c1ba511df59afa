#include "engine/api/output_format.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/api/generation_fields.h"
#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {

using grammar::Wish;

constexpr std::array kFields{"response_format", "structured_outputs", "guided_json", "guided_regex",
                             "guided_choice",   "guided_grammar",     "json_schema", "grammar"};
constexpr std::size_t kChoicesMax = 1024;
constexpr std::size_t kNameBytesMax = 64;

/// A wish and the field that has it.
struct Found {
  Wish wish;
  std::string path;
};
using Wishes = std::vector<Found>;

Error unsupported(const std::string& path) {
  Error error = unimplemented(path + ": not supported yet", path);
  error.reason = kReasonUnsupported;
  return error;
}

/// A schema, or the text of one.
Result<Wish> schema_wish(const Json& value, const std::string& path) {
  if (value.is_object() || value.is_boolean()) {
    return grammar::json_schema(OrderedJson(value), path);
  }
  if (!value.is_string()) return wrong_type(path, "a schema", value);
  auto parsed = parse_ordered_json(value.get_ref<const std::string&>());
  if (parsed.ok()) return grammar::json_schema(*std::move(parsed), path);
  Error error = std::move(parsed).error().with_context(path);
  error.field = path;
  return error;
}

Result<std::string> text_of(const Json& value, const std::string& path) {
  if (!value.is_string()) return wrong_type(path, "a string", value);
  return value.get<std::string>();
}

Result<Wish> choice_wish(const Json& value, const std::string& path) {
  if (!value.is_array()) return wrong_type(path, "an array of strings", value);
  if (value.empty() || value.size() > kChoicesMax) {
    return invalid_argument(path + ": expected 1 to " + std::to_string(kChoicesMax) +
                                " choices, got " + std::to_string(value.size()),
                            path);
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string place = path + "[" + std::to_string(i) + "]";
    TRY(std::string text, text_of(value[i], place));
    if (text.empty()) {
      return invalid_argument(place + ": expected a string that is not empty", place);
    }
    texts.push_back(std::move(text));
  }
  Wish wish = grammar::choice(texts);
  wish.path = path;
  return wish;
}

Result<Wish> grammar_wish(const Json& value, const std::string& path) {
  TRY(std::string source, text_of(value, path));
  return grammar::gbnf(std::move(source), path);
}

Result<Wish> regex_wish(const Json& value, const std::string& path) {
  TRY(std::string pattern, text_of(value, path));
  return grammar::regex(std::move(pattern), path);
}

Wish object_wish(const std::string& path) {
  Wish wish = grammar::json_object();
  wish.path = path;
  return wish;
}

bool is_schema_name(const std::string& text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !text.empty() && text.size() <= kNameBytesMax && std::ranges::all_of(text, allowed);
}

/// `strict` changes nothing: a schema is always held.
Result<Wish> named_schema(const JsonFields& format) {
  TRY(const auto named, format.object("json_schema"));
  if (!named) return missing_field(format.path_of("json_schema"));
  TRY(const auto name, named->string("name"));
  if (name && !is_schema_name(*name)) {
    const std::string path = named->path_of("name");
    return invalid_argument(path + ": expected 1 to 64 letters, digits, underscores or dashes",
                            path);
  }
  TRY_OK(named->boolean("strict"));
  const std::string path = named->path_of("schema");
  const Json* schema = named->find("schema");
  if (schema == nullptr) return missing_field(path);
  if (schema->is_string()) return wrong_type(path, "an object", *schema);
  return schema_wish(*schema, path);
}

Status read_response_format(const Json& value, Wishes& wishes) {
  const JsonFields format(value, "response_format");
  TRY_OK(format.check_object());
  TRY(const auto type, format.string("type"));
  const std::string path = format.path_of("type");
  if (!type) return missing_field(path);
  if (*type == "text") return ok_status();
  if (*type == "json_schema") {
    TRY(Wish wish, named_schema(format));
    wishes.push_back({std::move(wish), "response_format"});
    return ok_status();
  }
  if (*type != "json_object") {
    return invalid_argument(path + ": expected text, json_object or json_schema, got " +
                                dump_json(Json(type->substr(0, 64))),
                            path);
  }
  Wish wish = object_wish("response_format");
  if (const Json* schema = format.find("schema")) {
    TRY(wish, schema_wish(*schema, format.path_of("schema")));
  }
  wishes.push_back({std::move(wish), "response_format"});
  return ok_status();
}

Status read_structured_outputs(const Json& value, Wishes& wishes) {
  const JsonFields outputs(value, "structured_outputs");
  TRY_OK(outputs.check_object());
  const std::size_t before = wishes.size();
  using Reader = Result<Wish> (*)(const Json&, const std::string&);
  const std::array<std::pair<const char*, Reader>, 4> readers{{{"json", schema_wish},
                                                               {"regex", regex_wish},
                                                               {"choice", choice_wish},
                                                               {"grammar", grammar_wish}}};
  for (const auto& [name, read] : readers) {
    const Json* wish = outputs.find(name);
    if (wish == nullptr) continue;
    TRY(Wish made, read(*wish, outputs.path_of(name)));
    wishes.push_back({std::move(made), outputs.path_of(name)});
  }
  TRY(const auto object, outputs.boolean("json_object"));
  const std::string object_path = outputs.path_of("json_object");
  if (object.value_or(false)) wishes.push_back({object_wish(object_path), object_path});
  for (const char* name : {"structural_tag", "whitespace_pattern"}) {
    if (outputs.find(name) != nullptr) return unsupported(outputs.path_of(name));
  }
  TRY(const auto compact, outputs.boolean("disable_any_whitespace"));
  for (std::size_t i = before; i < wishes.size(); ++i) {
    wishes[i].wish.compact = compact.value_or(false);
  }
  if (wishes.size() > before) return ok_status();
  return invalid_argument(
      "structured_outputs: expected one of json, json_object, regex, choice and grammar, got none",
      "structured_outputs");
}

Status read_field(const std::string& name, const Json& value, Wishes& wishes) {
  if (name == "response_format") return read_response_format(value, wishes);
  if (name == "structured_outputs") return read_structured_outputs(value, wishes);
  // llama-server's clients send an empty grammar for none.
  if (name == "grammar" && value.is_string() && value.get_ref<const std::string&>().empty()) {
    return ok_status();
  }
  const bool schema = name == "guided_json" || name == "json_schema";
  Result<Wish> wish = schema                    ? schema_wish(value, name)
                      : name == "guided_regex"  ? regex_wish(value, name)
                      : name == "guided_choice" ? choice_wish(value, name)
                                                : grammar_wish(value, name);
  if (!wish.ok()) return std::move(wish).error();
  wishes.push_back({*std::move(wish), name});
  return ok_status();
}

/// Equal but for the order of keys.
// NOLINTNEXTLINE(misc-no-recursion): JSON's depth is limited
bool is_same(const OrderedJson& a, const OrderedJson& b) {
  if (a.type() != b.type() || a.size() != b.size()) return a.is_number() && a == b;
  if (a.is_array()) return std::ranges::equal(a, b, is_same);
  if (!a.is_object()) return a == b;
  for (const auto& [key, value] : a.items()) {
    const auto other = b.find(key);
    if (other == b.end() || !is_same(value, *other)) return false;
  }
  return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as above
const OrderedJson* find_same(const OrderedJson& schema, const OrderedJson& within) {
  if (is_same(schema, within)) return &within;
  if (!within.is_structured()) return nullptr;
  for (const OrderedJson& part : within) {
    if (const OrderedJson* found = find_same(schema, part)) return found;
  }
  return nullptr;
}

// NOLINTNEXTLINE(misc-no-recursion): wishes are made by us
void order_keys(Wish& wish, const OrderedJson& body) {
  if (wish.kind == Wish::Kind::kSchema && wish.schema.is_object()) {
    if (const OrderedJson* found = find_same(wish.schema, body)) wish.schema = *found;
  }
  for (Wish& part : wish.parts) order_keys(part, body);
}

}  // namespace

Result<std::shared_ptr<const Wish>> read_output_format(const JsonFields& fields) {
  Wishes wishes;
  for (const char* name : kFields) {
    if (const Json* value = fields.find(name)) TRY_OK(read_field(name, *value, wishes));
  }
  if (wishes.empty()) return std::shared_ptr<const Wish>();
  if (wishes.size() > 1) {
    return invalid_argument(
        wishes[1].path + ": " + wishes[0].path + " already says what the answer must look like",
        wishes[1].path);
  }
  return std::make_shared<const Wish>(std::move(wishes.front().wish));
}

std::shared_ptr<const Wish> in_key_order(std::shared_ptr<const Wish> wish, std::string_view body) {
  if (wish == nullptr) return wish;
  const auto ordered = parse_ordered_json(body);
  if (!ordered.ok()) return wish;
  auto copy = std::make_shared<Wish>(*wish);
  order_keys(*copy, *ordered);
  return copy;
}

}  // namespace kantha::api
