#include "base/json_fields.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kantha {
namespace {

constexpr std::size_t kShownBytesMax = 60;

/// What stands there, short enough for a message: scalars by value, the rest by type.
std::string shown(const Json& json) {
  if (json.is_structured()) return std::string(json_type_name(json));
  std::string text = dump_json(json);
  if (text.size() <= kShownBytesMax) return text;
  std::size_t cut = kShownBytesMax;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return text.substr(0, cut) + "…\"";
}

Error expected(const std::string& path, const std::string& what, const Json& got) {
  return invalid_argument(path + ": expected " + what + ", got " + shown(got), path);
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

/// The value as int64 when it is a whole number that fits.
std::optional<std::int64_t> whole(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (!json.is_number_float()) return std::nullopt;
  const double value = json.get<double>();
  // Beyond 2^53 a real stands for several whole numbers, also for integers that did not fit and
  // became reals in the parser.
  if (value != std::floor(value) || std::abs(value) > 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::string_view json_type_name(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::boolean: return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return "an integer";
    case Json::value_t::number_float: return "a number";
    case Json::value_t::string: return "a string";
    case Json::value_t::array: return "an array";
    case Json::value_t::object: return "an object";
    case Json::value_t::binary:
    case Json::value_t::discarded: return "no JSON value";
  }
  return "no JSON value";
}

std::string JsonFields::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

const Json* JsonFields::find(std::string_view name) const {
  if (!json_.is_object()) return nullptr;
  const auto member = json_.find(name);
  if (member == json_.end() || member->is_null()) return nullptr;
  return &*member;
}

Status JsonFields::check_object() const {
  if (json_.is_object()) return ok_status();
  Error error = expected(path_.empty() ? "the document" : path_, "an object", json_);
  error.field = path_;  // the document itself has no name
  return error;
}

Status JsonFields::check_known(std::initializer_list<std::string_view> known) const {
  TRY_OK(check_object());
  for (const auto& member : json_.items()) {
    if (std::find(known.begin(), known.end(), member.key()) == known.end()) {
      const std::string path = path_of(member.key().substr(0, 100));
      return invalid_argument(path + ": unknown field", path);
    }
  }
  return ok_status();
}

Result<std::optional<std::string>> JsonFields::string(std::string_view name) const {
  TRY_OK(check_object());
  const Json* value = find(name);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return expected(path_of(name), "a string", *value);
  return std::optional<std::string>(value->get<std::string>());
}

Result<std::optional<bool>> JsonFields::boolean(std::string_view name) const {
  TRY_OK(check_object());
  const Json* value = find(name);
  if (value == nullptr) return std::optional<bool>();
  if (!value->is_boolean()) return expected(path_of(name), "a boolean", *value);
  return std::optional<bool>(value->get<bool>());
}

Result<std::optional<std::int64_t>> JsonFields::integer(std::string_view name, std::int64_t min,
                                                        std::int64_t max) const {
  TRY_OK(check_object());
  const Json* value = find(name);
  if (value == nullptr) return std::optional<std::int64_t>();
  const auto number = whole(*value);
  if (!number || *number < min || *number > max) {
    const std::string range = "[" + std::to_string(min) + ", " + std::to_string(max) + "]";
    return expected(path_of(name), "an integer in " + range, *value);
  }
  return number;
}

Result<std::optional<double>> JsonFields::number(std::string_view name, double min,
                                                 double max) const {
  TRY_OK(check_object());
  const Json* value = find(name);
  if (value == nullptr) return std::optional<double>();
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(std::isfinite(number) && number >= min && number <= max)) {
    const std::string range = "[" + number_text(min) + ", " + number_text(max) + "]";
    return expected(path_of(name), "a number in " + range, *value);
  }
  return std::optional<double>(number);
}

Result<const Json*> JsonFields::array(std::string_view name, std::size_t count_max) const {
  TRY_OK(check_object());
  const Json* value = find(name);
  if (value == nullptr) return value;
  if (!value->is_array()) return expected(path_of(name), "an array", *value);
  if (value->size() > count_max) {
    const std::string path = path_of(name);
    return invalid_argument(path + ": expected at most " + std::to_string(count_max) +
                                " items, got " + std::to_string(value->size()),
                            path);
  }
  return value;
}

Result<std::optional<std::vector<std::string>>> JsonFields::strings(std::string_view name,
                                                                    std::size_t count_max) const {
  TRY(const Json* items, array(name, count_max));
  if (items == nullptr) return std::optional<std::vector<std::string>>();
  std::vector<std::string> texts;
  texts.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    const Json& item = (*items)[i];
    if (!item.is_string()) {
      return expected(path_of(name) + "[" + std::to_string(i) + "]", "a string", item);
    }
    texts.push_back(item.get<std::string>());
  }
  return std::optional<std::vector<std::string>>(std::move(texts));
}

Result<std::optional<JsonFields>> JsonFields::object(std::string_view name) const {
  TRY_OK(check_object());
  const Json* value = find(name);
  if (value == nullptr) return std::optional<JsonFields>();
  if (!value->is_object()) return expected(path_of(name), "an object", *value);
  return std::optional<JsonFields>(JsonFields(*value, path_of(name)));
}

}  // namespace kantha
