#include <algorithm>
#include <charconv>

#include "base/net/ascii.h"
#include "base/net/http.h"
#include "base/net/socket_address.h"

namespace kantha::net {
namespace {

Error bad_endpoint(std::string_view text, std::string_view why) {
  return invalid_argument("endpoint: " + std::string(why) + ", got \"" + std::string(text) +
                          "\"; expected HOST:PORT, [IPV6]:PORT, http://HOST:PORT, unix:PATH or, to "
                          "listen at every address, *:PORT");
}

bool is_host_char(char c) {
  return is_token_char(c) && std::string_view("!#$%&'*+^`|~").find(c) == std::string_view::npos;
}

bool is_ipv6_char(char c) {
  return is_digit(c) || c == ':' || c == '.' || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
}

}  // namespace

std::string Endpoint::to_string() const {
  if (is_unix()) return "unix:" + unix_path;
  const bool is_ipv6 = host.find(':') != host.npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  std::string_view rest = text;
  if (rest.starts_with("unix:")) {
    rest.remove_prefix(5);
    if (rest.empty() || rest.find('\0') != rest.npos) return bad_endpoint(text, "no socket path");
    endpoint.unix_path = rest;
    return endpoint;
  }
  if (rest.starts_with("https://")) return bad_endpoint(text, "TLS is not supported");
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    if (rest.ends_with('/')) rest.remove_suffix(1);
  }
  const std::size_t colon = rest.rfind(':');
  if (colon == rest.npos) return bad_endpoint(text, "no port");
  std::string_view host = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (!std::ranges::all_of(host, is_ipv6_char)) return bad_endpoint(text, "bad IPv6 address");
  } else if (host != kEveryAddress &&
             (host.empty() || host.size() > 255 || !std::ranges::all_of(host, is_host_char))) {
    return bad_endpoint(text, "bad host");
  }
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (port.empty() || parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) {
    return bad_endpoint(text, "port must be an integer in [0, 65535]");
  }
  endpoint.host = host;
  return endpoint;
}

}  // namespace kantha::net
