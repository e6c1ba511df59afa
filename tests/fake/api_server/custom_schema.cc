#include "tests/fake/api_server/custom_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

namespace kantha::fake {
namespace {

/// A part of the schema; nullptr when it is not there or no object.
const Json* part_of(const Json& schema, const char* name) {
  const auto found = schema.find(name);
  return found == schema.end() || !found->is_object() ? nullptr : &*found;
}

/// What the schema says of a field: by its name, else of any field.
const Json* schema_of_field(const Json& schema, const std::string& name) {
  if (const Json* properties = part_of(schema, "properties")) {
    if (const Json* named = part_of(*properties, name.c_str())) return named;
  }
  return part_of(schema, "additionalProperties");
}

std::string joined(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

void prune(const Json& schema, Json& value, const std::string& path,
           std::vector<std::string>& unknown) {
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      prune(schema["items"], value[i], fmt::format("{}[{}]", path, i), unknown);
    }
  }
  if (!value.is_object() || schema.value("x-kubernetes-preserve-unknown-fields", false)) return;
  const bool open = schema.contains("additionalProperties");
  std::vector<std::string> names;
  for (const auto& [name, child] : value.items()) names.push_back(name);
  for (const std::string& name : names) {
    const bool is_root = path.empty();
    if (is_root && (name == "metadata" || name == "apiVersion" || name == "kind")) continue;
    if (const Json* field = schema_of_field(schema, name)) {
      prune(*field, value[name], joined(path, name), unknown);
    } else if (!open) {
      unknown.push_back(joined(path, name));
      value.erase(name);
    }
  }
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "number") return value.is_number();
  if (type != "integer") return true;
  return value.is_number_integer() ||
         (value.is_number() && value.get<double>() == static_cast<double>(static_cast<std::int64_t>(
                                                          value.get<double>())));
}

/// Compiled once; a definition has few.
const std::regex& pattern_of(const std::string& text) {
  static std::map<std::string, std::regex> patterns;
  const auto found = patterns.find(text);
  return found != patterns.end() ? found->second : patterns.emplace(text, text).first->second;
}

std::string type_of(const Json& value) {
  if (value.is_number_integer()) return "integer";
  if (value.is_number()) return "number";
  return value.type_name();
}

class Checker {
 public:
  explicit Checker(std::vector<Cause>& causes) : causes_(causes) {}

  void check(const Json& schema, const Json& value, const std::string& path) {
    if (!check_type(schema, value, path)) return;
    if (schema.contains("enum")) check_enum(schema["enum"], value, path);
    if (value.is_number()) check_number(schema, value, path);
    if (value.is_string()) check_string(schema, value, path);
    if (value.is_array()) check_array(schema, value, path);
    if (value.is_object()) check_object(schema, value, path);
  }

 private:
  void add(const std::string& path, const std::string& reason, const std::string& message) {
    causes_.push_back({path, reason, message});
  }

  bool check_type(const Json& schema, const Json& value, const std::string& path) {
    if (value.is_null() && schema.value("nullable", false)) return true;
    if (schema.value("x-kubernetes-int-or-string", false)) {
      if (value.is_string() || value.is_number_integer()) return true;
    }
    const std::string type = schema.value("type", "");
    if (type.empty() || has_type(value, type)) return true;
    add(path, "FieldValueTypeInvalid",
        fmt::format("Invalid value: \"{0}\": {1} in body must be of type {2}: \"{0}\"",
                    type_of(value), path, type));
    return false;
  }

  void check_enum(const Json& allowed, const Json& value, const std::string& path) {
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    std::string names;
    for (const Json& name : allowed) names += (names.empty() ? "" : ", ") + dump_json(name);
    add(path, "FieldValueNotSupported",
        fmt::format("Unsupported value: {}: supported values: {}", dump_json(value), names));
  }

  void check_number(const Json& schema, const Json& value, const std::string& path) {
    const double number = value;
    if (schema.contains("minimum") && number < schema["minimum"].get<double>()) {
      add(path, "FieldValueInvalid",
          fmt::format("Invalid value: {}: {} in body should be greater than or equal to {}",
                      dump_json(value), path, dump_json(schema["minimum"])));
    }
    if (schema.contains("maximum") && number > schema["maximum"].get<double>()) {
      add(path, "FieldValueInvalid",
          fmt::format("Invalid value: {}: {} in body should be less than or equal to {}",
                      dump_json(value), path, dump_json(schema["maximum"])));
    }
  }

  void check_string(const Json& schema, const Json& value, const std::string& path) {
    const std::string& text = value.get_ref<const std::string&>();
    if (schema.contains("pattern") && !std::regex_search(text, pattern_of(schema["pattern"]))) {
      add(path, "FieldValueInvalid",
          fmt::format("Invalid value: {}: {} in body should match '{}'", dump_json(value), path,
                      schema["pattern"].get<std::string>()));
    }
    if (schema.contains("maxLength") && text.size() > schema["maxLength"].get<std::size_t>()) {
      add(path, "FieldValueTooLong",
          fmt::format("Too long: may not be more than {} bytes", dump_json(schema["maxLength"])));
    }
    if (schema.contains("minLength") && text.size() < schema["minLength"].get<std::size_t>()) {
      add(path, "FieldValueInvalid",
          fmt::format("Invalid value: {}: {} in body should be at least {} chars long",
                      dump_json(value), path, dump_json(schema["minLength"])));
    }
  }

  void check_array(const Json& schema, const Json& value, const std::string& path) {
    if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<std::size_t>()) {
      add(path, "FieldValueTooMany",
          fmt::format("Too many: {}: must have at most {} items", value.size(),
                      dump_json(schema["maxItems"])));
    }
    if (!schema.contains("items")) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      check(schema["items"], value[i], fmt::format("{}[{}]", path, i));
    }
  }

  void check_object(const Json& schema, const Json& value, const std::string& path) {
    if (const auto required = schema.find("required"); required != schema.end()) {
      for (const Json& name : *required) {
        if (value.contains(name.get_ref<const std::string&>())) continue;
        add(joined(path, name), "FieldValueRequired", "Required value");
      }
    }
    for (const auto& [name, child] : value.items()) {
      if (path.empty() && name == "metadata") continue;
      const Json* field = schema_of_field(schema, name);
      if (field != nullptr) check(*field, child, joined(path, name));
    }
  }

  std::vector<Cause>& causes_;
};

}  // namespace

std::vector<std::string> prune_unknown(const Json& schema, Json& object) {
  std::vector<std::string> unknown;
  prune(schema, object, "", unknown);
  return unknown;
}

void set_defaults(const Json& schema, Json& value) {
  if (value.is_array() && schema.contains("items")) {
    for (Json& element : value) set_defaults(schema["items"], element);
  }
  if (!value.is_object()) return;
  const auto properties = schema.find("properties");
  if (properties != schema.end()) {
    for (const auto& [name, child] : properties->items()) {
      const bool nulled =
          value.contains(name) && value[name].is_null() && !child.value("nullable", false);
      if (nulled) value.erase(name);
      if (!value.contains(name) && child.contains("default")) value[name] = child["default"];
      if (value.contains(name)) set_defaults(child, value[name]);
    }
  }
  if (const Json* any = part_of(schema, "additionalProperties")) {
    for (auto& [name, child] : value.items()) {
      const bool is_named = properties != schema.end() && properties->contains(name);
      if (!is_named) set_defaults(*any, child);
    }
  }
}

std::vector<Cause> check_schema(const Json& schema, const Json& object) {
  std::vector<Cause> causes;
  Checker(causes).check(schema, object, "");
  return causes;
}

}  // namespace kantha::fake
