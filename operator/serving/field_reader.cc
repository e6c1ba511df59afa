#include "operator/serving/field_reader.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/yaml_document.h"
#include "operator/serving/quantity.h"

namespace kantha::serving {
namespace {

constexpr std::size_t kShownBytesMax = 60;

const Json& empty_object() {
  static const Json empty = Json::object();
  return empty;
}

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Edits (insert, delete, replace) between two short names, case apart.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string joined(std::initializer_list<std::string_view> names) {
  std::string out;
  for (const std::string_view name : names) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out;
}

}  // namespace

std::string nearest_name(std::string_view text, std::initializer_list<std::string_view> names) {
  if (text.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = 0;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(text, name);
    // Two letters swapped are two edits; in a short name that would fit anything.
    if (distance > std::max<std::size_t>(name.size() >= 5 ? 2 : 1, name.size() / 3)) continue;
    if (best.empty() || distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return std::string(best);
}

std::string shown_value(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownBytesMax) {
    std::size_t end = kShownBytesMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  return text;
}

FieldReader::FieldReader(const Json& json, std::string path, Problems& problems)
    : json_(&json), path_(std::move(path)), problems_(&problems) {
  if (json.is_object()) return;
  json_ = &empty_object();
  if (!json.is_null()) {
    wrong_ = true;
    problems.push_back({path_, "expected an object, got " + shown_value(json)});
  }
}

std::string FieldReader::path_of(std::string_view name) const { return yaml_path(path_, name); }

void FieldReader::note(std::string_view name, std::string message) const {
  problems_->push_back({path_of(name), std::move(message)});
}

const Json* FieldReader::find(std::string_view name) const {
  const auto found = json_->find(std::string(name));
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void FieldReader::check_known(std::initializer_list<std::string_view> names) const {
  for (const auto& [key, value] : json_->items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::string nearest = nearest_name(key, names);
    note(key, nearest.empty() ? "unknown field; known here: " + joined(names)
                              : "unknown field; did you mean \"" + nearest + "\"?");
  }
}

void FieldReader::require(std::string_view name) const {
  if (!wrong_ && find(name) == nullptr) note(name, "is required");
}

void FieldReader::string(std::string_view name, std::string& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (value->is_string()) {
    out = value->get<std::string>();
    return;
  }
  const bool quotable = value->is_number() || value->is_boolean();
  note(name,
       "expected a string, got " + shown_value(*value) + (quotable ? "; put it in quotes" : ""));
}

void FieldReader::boolean(std::string_view name, bool& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (value->is_boolean()) {
    out = value->get<bool>();
  } else {
    note(name, "expected true or false, got " + shown_value(*value));
  }
}

void FieldReader::integer(std::string_view name, std::int64_t& out) const {
  std::optional<std::int64_t> value;
  integer(name, value);
  if (value) out = *value;
}

void FieldReader::integer(std::string_view name, std::optional<std::int64_t>& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<std::uint64_t>() <= INT64_MAX);
  if (fits) {
    out = value->get<std::int64_t>();
  } else {
    note(name, "expected an integer, got " + shown_value(*value));
  }
}

void FieldReader::number(std::string_view name, double& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (value->is_number()) {
    out = value->get<double>();
  } else {
    note(name, "expected a number, got " + shown_value(*value));
  }
}

void FieldReader::quantity(std::string_view name, std::string& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (value->is_string()) {
    out = value->get<std::string>();
  } else if (value->is_number()) {
    out = value->dump();
  } else {
    note(name, "expected a quantity such as 2Gi, 512Mi, 2 or 500m, got " + shown_value(*value));
  }
}

void FieldReader::int_or_percent(std::string_view name, IntOrPercent& out) const {
  const Json* value = find(name);
  if (value == nullptr) return;
  if (value->is_number_integer()) {
    integer(name, out.value);
    out.percent = false;
    return;
  }
  // A quoted plain number is refused, as Kubernetes does for an int-or-string with a percentage.
  const bool text = value->is_string() && value->get_ref<const std::string&>().ends_with('%');
  Result<IntOrPercent> parsed =
      parse_int_or_percent(text ? value->get_ref<const std::string&>() : std::string());
  if (parsed.ok()) {
    out = *parsed;
  } else {
    note(name, "expected an integer or a percentage such as 25%, got " + shown_value(*value));
  }
}

void FieldReader::string_map(std::string_view name, std::map<std::string, std::string>& out) const {
  const std::optional<FieldReader> map = object(name);
  if (!map) return;
  for (const auto& [key, value] : map->json_->items()) map->string(key, out[key]);
}

std::optional<FieldReader> FieldReader::object(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return FieldReader(*value, path_of(name), *problems_);
}

const Json* FieldReader::list(std::string_view name, std::size_t count_max) const {
  const Json* value = find(name);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    note(name, "expected a list, got " + shown_value(*value));
    return nullptr;
  }
  if (value->size() > count_max) {
    note(name, "has " + std::to_string(value->size()) + " entries, at most " +
                   std::to_string(count_max) + " are allowed");
    return nullptr;
  }
  return value;
}

void FieldReader::strings(std::string_view name, std::size_t count_max,
                          std::vector<std::string>& out) const {
  const Json* value = list(name, count_max);
  if (value == nullptr) return;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& entry = (*value)[i];
    if (entry.is_string()) {
      out.push_back(entry.get<std::string>());
    } else {
      note(std::string(name) + "[" + std::to_string(i) + "]",
           "expected a string, got " + shown_value(entry));
    }
  }
}

std::vector<FieldReader> FieldReader::objects(std::string_view name, std::size_t count_max) const {
  std::vector<FieldReader> out;
  const Json* value = list(name, count_max);
  if (value == nullptr) return out;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::string path = path_of(name) + "[" + std::to_string(i) + "]";
    const Json& entry = (*value)[i];
    out.emplace_back(entry, path, *problems_);
    if (!entry.is_null()) continue;
    out.back().wrong_ = true;
    problems_->push_back({path, "expected an object, got null"});
  }
  return out;
}

}  // namespace kantha::serving
