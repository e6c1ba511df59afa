#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/net/http.h"
#include "base/result.h"
#include "noded/models/url.h"

/// Which requests go through a proxy. Pure; any thread.
namespace kantha::noded {

/// Looks up an environment variable; empty ones count as absent.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

/// A proxy that is spoken to in plain HTTP.
struct Proxy {
  net::Endpoint endpoint;
  std::string authorization;  ///< of the field Proxy-Authorization; may be empty
};

struct ProxyRules {
  std::optional<Proxy> for_http;
  std::optional<Proxy> for_https;
  std::vector<std::string> exceptions;  ///< the parts of NO_PROXY

  /// The proxy for an address. Never one for localhost and loopback addresses.
  const Proxy* proxy_for(const Url& url) const;
};

/// Reads http_proxy, https_proxy, all_proxy and no_proxy; the lower-case spelling goes before the
/// upper-case one. NO_PROXY is a list of "*", "example.com" and ".example.com" (both with all names
/// below), IP addresses and IPv4 networks ("10.0.0.0/8"), each with or without ":port".
/// kInvalidArgument names the variable.
Result<ProxyRules> proxy_rules_from(const Environment& environment);

}  // namespace kantha::noded
