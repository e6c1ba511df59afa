#include "operator/metricsapi/auth_config.h"

#include <algorithm>
#include <cctype>

#include "base/json_text.h"
#include "operator/metricsapi/metric_path.h"

namespace kantha::metricsapi {
namespace {

constexpr std::size_t kGroupsMax = 1000;
constexpr std::size_t kExtrasMax = 100;

/// A key whose text is a JSON list of texts; missing: an empty list.
Result<std::vector<std::string>> list_at(const Json& data, const char* key) {
  const std::string text = text_at(data, key);
  std::vector<std::string> out;
  if (text.empty()) return out;
  const Result<Json> list = parse_json(text);
  const bool is_list =
      list.ok() && list->is_array() &&
      std::all_of(list->begin(), list->end(), [](const Json& entry) { return entry.is_string(); });
  if (!is_list) return invalid_argument(std::string(key) + ": expected a JSON list of texts");
  for (const Json& entry : *list) out.push_back(entry.get<std::string>());
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// All values of all these headers, in order.
std::vector<std::string> values_of(const net::Headers& headers,
                                   const std::vector<std::string>& names, std::size_t count_max) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    for (const auto& [field, value] : headers.all()) {
      if (lower(field) == lower(name) && out.size() < count_max) out.push_back(value);
    }
  }
  return out;
}

std::string first_of(const net::Headers& headers, const std::vector<std::string>& names) {
  for (const std::string& value : values_of(headers, names, 64)) {
    if (!value.empty()) return value;
  }
  return {};
}

void read_extra(const AuthConfig& config, const net::Headers& headers, User& user) {
  for (const std::string& prefix : config.extra_prefixes) {
    for (const auto& [field, value] : headers.all()) {
      const std::string name = lower(field);
      if (!name.starts_with(lower(prefix)) || user.extra.size() >= kExtrasMax) continue;
      const std::string escaped = name.substr(prefix.size());
      const Result<std::string> key = percent_decoded(escaped, false);
      user.extra[lower(key.ok() ? *key : escaped)].push_back(value);
    }
  }
}

}  // namespace

bool User::in_group(const std::string& group) const {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

Result<AuthConfig> auth_config_from_json(const Json& config_map) {
  AuthConfig out;
  const auto data = config_map.is_object() ? config_map.find("data") : config_map.end();
  if (!config_map.is_object() || data == config_map.end()) return out;
  out.requestheader_ca_pem = text_at(*data, "requestheader-client-ca-file");
  TRY(out.allowed_names, list_at(*data, "requestheader-allowed-names"));
  TRY(out.username_headers, list_at(*data, "requestheader-username-headers"));
  TRY(out.uid_headers, list_at(*data, "requestheader-uid-headers"));
  TRY(out.group_headers, list_at(*data, "requestheader-group-headers"));
  TRY(out.extra_prefixes, list_at(*data, "requestheader-extra-headers-prefix"));
  return out;
}

std::optional<User> user_from_headers(const AuthConfig& config, const net::Headers& headers,
                                      const std::optional<std::string>& peer) {
  if (!peer || config.requestheader_ca_pem.empty()) return std::nullopt;
  const std::vector<std::string>& names = config.allowed_names;
  if (!names.empty() && std::find(names.begin(), names.end(), *peer) == names.end()) {
    return std::nullopt;
  }
  User out;
  out.name = first_of(headers, config.username_headers);
  if (out.name.empty()) return std::nullopt;
  out.uid = first_of(headers, config.uid_headers);
  out.groups = values_of(headers, config.group_headers, kGroupsMax);
  read_extra(config, headers, out);
  return out;
}

}  // namespace kantha::metricsapi
