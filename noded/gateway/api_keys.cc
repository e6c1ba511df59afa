#include "noded/gateway/api_keys.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/digest.h"
#include "base/json_fields.h"
#include "base/net/ascii.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kKeysMax = 10'000;
constexpr std::size_t kKeyBytesMax = 512;
constexpr std::size_t kTenantBytesMax = 64;
constexpr std::size_t kModelsMax = 256;
constexpr std::int64_t kRateMax = 1'000'000'000'000;
constexpr std::size_t kHexDigits = 64;
constexpr std::array<std::string_view, 3> kKeyFields = {"authorization", "api-key", "x-api-key"};

Result<std::string> read_digest(const JsonFields& fields) {
  TRY(const auto text, fields.string("sha256"));
  const std::string path = fields.path_of("sha256");
  if (!text) return invalid_argument(path + ": required", path);
  std::string digest = *text;
  std::ranges::transform(digest, digest.begin(), net::to_lower);
  if (digest.size() != kHexDigits ||
      digest.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return invalid_argument(path + ": expected 64 hexadecimal digits (kantha key digest), got " +
                                std::to_string(digest.size()) + " characters that are not",
                            path);
  }
  return digest;
}

Result<std::string> read_tenant(const JsonFields& fields) {
  TRY(const auto tenant, fields.string("tenant"));
  const std::string path = fields.path_of("tenant");
  if (!tenant) return invalid_argument(path + ": required", path);
  const auto is_fine = [](char c) {
    return c == '-' || c == '_' || c == '.' || net::is_digit(c) ||
           (net::to_lower(c) >= 'a' && net::to_lower(c) <= 'z');
  };
  if (tenant->empty() || tenant->size() > kTenantBytesMax ||
      !std::ranges::all_of(*tenant, is_fine)) {
    return invalid_argument(path +
                                ": expected 1 to 64 letters, digits, \"-\", \"_\" and \".\", got " +
                                std::to_string(tenant->size()) + " characters that are not",
                            path);
  }
  return *tenant;
}

Result<std::string> read_class(const JsonFields& fields) {
  TRY(const auto name, fields.string("class"));
  if (!name || *name == "interactive" || *name == "agent" || *name == "batch") {
    return name.value_or("");
  }
  const std::string path = fields.path_of("class");
  return invalid_argument(path + ": expected interactive, agent or batch", path);
}

Result<KeyGrant> read_grant(const JsonFields& fields) {
  TRY_OK(fields.check_object());
  TRY_OK(fields.check_known({"sha256", "tenant", "models", "requestsPerMinute", "tokensPerMinute",
                             "maxConcurrent", "priority", "class", "privateCache"}));
  KeyGrant grant;
  TRY(grant.tenant, read_tenant(fields));
  TRY(auto models, fields.strings("models", kModelsMax));
  if (models) grant.models = *std::move(models);
  TRY(const auto requests, fields.integer("requestsPerMinute", 0, kRateMax));
  TRY(const auto tokens, fields.integer("tokensPerMinute", 0, kRateMax));
  TRY(const auto concurrent, fields.integer("maxConcurrent", 0, kRateMax));
  grant.limits = {requests.value_or(0), tokens.value_or(0), concurrent.value_or(0)};
  TRY(const auto priority, fields.integer("priority", std::numeric_limits<std::int32_t>::min(),
                                          std::numeric_limits<std::int32_t>::max()));
  if (priority) grant.priority = static_cast<std::int32_t>(*priority);
  TRY(grant.slo_class, read_class(fields));
  TRY(const auto private_cache, fields.boolean("privateCache"));
  grant.private_cache = private_cache.value_or(false);
  return grant;
}

/// What must hold between entries.
class Siblings {
 public:
  Status add(const std::string& path, const std::string& digest, const KeyGrant& grant) {
    if (!digests_.insert(digest).second) {
      return invalid_argument(path + ".sha256: this digest stands here twice", path + ".sha256");
    }
    const auto [first, is_new] = tenants_.emplace(grant.tenant, std::pair(path, grant.limits));
    if (is_new || first->second.second == grant.limits) return ok_status();
    return invalid_argument(path + ": tenant \"" + grant.tenant + "\" has other rates by " +
                                first->second.first + "; the keys of a tenant share its rates",
                            path);
  }

 private:
  std::set<std::string> digests_;
  std::map<std::string, std::pair<std::string, RateLimits>> tenants_;
};

/// The key in one of our fields; nullopt for Authorization of another scheme.
std::optional<std::string_view> key_in(std::string_view name, std::string_view value) {
  value = net::trim(value);
  if (!net::equals_ignoring_case(name, kKeyFields.front())) return value;
  constexpr std::string_view kBearer = "Bearer ";
  if (!net::starts_with_ignoring_case(value, kBearer)) return std::nullopt;
  return net::trim(value.substr(kBearer.size()));
}

bool is_key_field(std::string_view name) {
  return std::ranges::any_of(
      kKeyFields, [&](std::string_view known) { return net::equals_ignoring_case(known, name); });
}

Error no_key(std::string message) { return {Code::kUnauthenticated, std::move(message)}; }

}  // namespace

bool KeyGrant::may_use(std::string_view model) const {
  return models.empty() || std::ranges::any_of(models, [&](const std::string& allowed) {
           return allowed == "*" || allowed == model;
         });
}

Result<ApiKeys> ApiKeys::read(std::string_view text) {
  TRY(const Json file, parse_json(text, {.nodes_max = 400'000}));
  const JsonFields root(file, "");
  TRY_OK(root.check_object());
  TRY_OK(root.check_known({"keys"}));
  TRY(const Json* const entries, root.array("keys", kKeysMax));
  if (entries == nullptr) return invalid_argument("keys: required; [] lets nobody in", "keys");
  ApiKeys keys;
  Siblings siblings;
  for (const Json& entry : *entries) {
    const std::string path = "keys[" + std::to_string(keys.grants_.size()) + "]";
    const JsonFields fields(entry, path);
    TRY(KeyGrant grant, read_grant(fields));
    TRY(const std::string digest, read_digest(fields));
    TRY_OK(siblings.add(path, digest, grant));
    std::ranges::copy(digest, keys.digests_.emplace_back().begin());
    keys.grants_.push_back(std::move(grant));
  }
  return keys;
}

const KeyGrant* ApiKeys::find(std::string_view key) const {
  const std::string digest = sha256_hex(key);
  std::size_t found = 0;  // one more than the index
  for (std::size_t i = 0; i < digests_.size(); ++i) {
    unsigned difference = 0;
    for (std::size_t at = 0; at < kHexDigits; ++at) {
      difference |=
          static_cast<unsigned char>(digests_[i][at]) ^ static_cast<unsigned char>(digest[at]);
    }
    // All ones where the digests are equal: no branch depends on them.
    const std::size_t mask =
        std::size_t{0} - static_cast<std::size_t>(((difference - 1U) >> 31U) & 1U);
    found |= (i + 1) & mask;
  }
  return found == 0 ? nullptr : &grants_[found - 1];
}

Result<std::string_view> presented_key(const net::Headers& headers) {
  std::optional<std::string_view> key;
  for (const auto& [name, value] : headers.all()) {
    if (!is_key_field(name)) continue;
    const auto shown = key_in(name, value);
    if (!shown) return no_key("expected \"Authorization: Bearer KEY\", got another scheme");
    if (key && *key != *shown) return no_key("the request shows several different API keys");
    key = shown;
  }
  if (!key || key->empty()) {
    return no_key("no API key: send it as \"Authorization: Bearer KEY\" or \"x-api-key: KEY\"");
  }
  if (key->size() > kKeyBytesMax) {
    return no_key("an API key has at most " + std::to_string(kKeyBytesMax) + " bytes");
  }
  return *key;
}

void remove_keys(net::Headers& headers) {
  for (const std::string_view name : kKeyFields) headers.remove(name);
}

}  // namespace kantha::noded
