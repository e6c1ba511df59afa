#include "noded/models/proxy_rules.h"

#include <arpa/inet.h>
#include <openssl/evp.h>

#include <charconv>
#include <cstdlib>
#include <utility>

namespace kantha::noded {
namespace {

std::string base64(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int count = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                    reinterpret_cast<const unsigned char*>(bytes.data()),
                                    static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(count));
  return out;
}

std::optional<std::string> either(const Environment& environment, const char* lower,
                                  const char* upper) {
  std::optional<std::string> value = environment(lower);
  return value ? value : environment(upper);
}

/// "http://user:password@proxy.example.com:3128"; the scheme may be left out.
Result<std::optional<Proxy>> proxy_from(const std::optional<std::string>& text, const char* name) {
  if (!text) return std::optional<Proxy>();
  std::string address = text->find("://") == std::string::npos ? "http://" + *text : *text;
  Proxy proxy;
  const std::size_t host = address.find("://") + 3;
  const std::size_t at = address.rfind('@', address.find('/', host));
  if (at != std::string::npos && at >= host) {
    proxy.authorization = "Basic " + base64(address.substr(host, at - host));
    address.erase(host, at + 1 - host);
  }
  Result<Url> url = parse_url(address);
  if (!url.ok()) return std::move(url).error().with_context(name);
  if (url->is_tls) {
    return invalid_argument(std::string(name) + ": a proxy that itself wants TLS is not supported");
  }
  proxy.endpoint = url->endpoint();
  return std::optional<Proxy>(std::move(proxy));
}

std::optional<std::uint32_t> ipv4(const std::string& text) {
  in_addr address = {};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

bool is_in_network(const std::string& host, const std::string& network) {
  const std::size_t slash = network.find('/');
  const auto address = ipv4(host);
  const auto base = ipv4(network.substr(0, slash));
  unsigned bits = 33;
  std::from_chars(network.data() + slash + 1, network.data() + network.size(), bits);
  if (!address || !base || bits > 32) return false;
  return bits == 0 || (*address >> (32 - bits)) == (*base >> (32 - bits));
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.ends_with(".localhost") ||
         is_in_network(host, "127.0.0.0/8");
}

bool is_excepted(const Url& url, std::string rule) {
  if (rule == "*") return true;
  const std::size_t colon = rule.rfind(':');
  const bool has_port = colon != std::string::npos && rule.find(':') == colon;
  if (has_port) {
    if (rule.substr(colon + 1) != std::to_string(url.port)) return false;
    rule.resize(colon);
  }
  if (rule.find('/') != std::string::npos) return is_in_network(url.host, rule);
  if (rule.starts_with("*.")) rule.erase(0, 1);
  const std::string name = rule.starts_with('.') ? rule.substr(1) : rule;
  return !name.empty() && (url.host == name || url.host.ends_with("." + name));
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  std::string part;
  for (const char c : text + ",") {
    if (c == ',' || c == ' ') {
      if (!part.empty()) out.push_back(std::exchange(part, {}));
    } else {
      part += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return out;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
  };
}

const Proxy* ProxyRules::proxy_for(const Url& url) const {
  const std::optional<Proxy>& proxy = url.is_tls ? for_https : for_http;
  if (!proxy || is_loopback(url.host)) return nullptr;
  for (const std::string& rule : exceptions) {
    if (is_excepted(url, rule)) return nullptr;
  }
  return &*proxy;
}

Result<ProxyRules> proxy_rules_from(const Environment& environment) {
  ProxyRules out;
  TRY(const auto all, proxy_from(either(environment, "all_proxy", "ALL_PROXY"), "all_proxy"));
  TRY(out.for_http, proxy_from(either(environment, "http_proxy", "HTTP_PROXY"), "http_proxy"));
  TRY(out.for_https, proxy_from(either(environment, "https_proxy", "HTTPS_PROXY"), "https_proxy"));
  if (!out.for_http) out.for_http = all;
  if (!out.for_https) out.for_https = all;
  out.exceptions = split_list(either(environment, "no_proxy", "NO_PROXY").value_or(""));
  return out;
}

}  // namespace kantha::noded
