#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/net/http.h"
#include "base/result.h"

/// Whom the API server lets speak for others: ConfigMap
/// kube-system/extension-apiserver-authentication. Plain data; any thread.
/// Source: Kubernetes docs "Configure the Aggregation Layer".
namespace kantha::metricsapi {

/// Who asks.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool in_group(const std::string& group) const;
  bool operator==(const User&) const = default;
};

struct AuthConfig {
  std::string requestheader_ca_pem;        ///< empty: no identity headers are believed
  std::vector<std::string> allowed_names;  ///< of the proxy's certificate; empty: any
  std::vector<std::string> username_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_prefixes;
  bool operator==(const AuthConfig&) const = default;
};

/// Reads the ConfigMap. kInvalidArgument names the key that is no list of texts.
Result<AuthConfig> auth_config_from_json(const Json& config_map);

/// The user whom the front proxy speaks for. `peer` is the common name of the client's certificate,
/// once it was verified against requestheader_ca_pem; nullopt: there was none. nullopt: the headers
/// are not to be believed, or name nobody.
std::optional<User> user_from_headers(const AuthConfig& config, const net::Headers& headers,
                                      const std::optional<std::string>& peer);

}  // namespace kantha::metricsapi
