#include "noded/models/url.h"

#include <algorithm>
#include <charconv>

namespace kantha::noded {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_host_char(char c, bool is_literal) {
  const bool plain =
      (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  return plain || (is_literal && c == ':');
}

Error bad_url(std::string_view text, const std::string& why) {
  const std::string_view address = text.substr(0, text.find('?'));
  return invalid_argument("\"" + std::string(address.substr(0, 200)) + "\": " + why);
}

/// Splits "host:port" or "[::1]:port" into `url`.
Status read_authority(std::string_view authority, std::string_view text, Url& url) {
  if (authority.find('@') != authority.npos) {
    return bad_url("…" + std::string(authority.substr(authority.find('@'))),
                   "an address with a user name or a password is not taken");
  }
  const bool is_literal = authority.starts_with('[');
  const std::size_t host_end = is_literal ? authority.find(']') : authority.find(':');
  if (is_literal && host_end == authority.npos) return bad_url(text, "expected ] after [");
  url.host = lower(authority.substr(is_literal ? 1 : 0, host_end - (is_literal ? 1 : 0)));
  const bool fine =
      !url.host.empty() && url.host.size() <= 253 &&
      std::ranges::all_of(url.host, [&](char c) { return is_host_char(c, is_literal); });
  if (!fine) return bad_url(text, "expected a host name or an IP address");
  url.port = url.is_tls ? kHttpsPort : kHttpPort;
  std::string_view rest =
      host_end == authority.npos ? std::string_view() : authority.substr(host_end);
  if (is_literal) rest.remove_prefix(1);
  if (rest.empty()) return ok_status();
  if (rest.front() != ':') return bad_url(text, "expected a port after the host");
  rest.remove_prefix(1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), port);
  if (error != std::errc() || end != rest.data() + rest.size() || port == 0 || port > 65535) {
    return bad_url(text, "expected a port in [1, 65535]");
  }
  url.port = static_cast<std::uint16_t>(port);
  return ok_status();
}

}  // namespace

std::string Url::authority() const {
  const std::string name = host.find(':') == host.npos ? host : "[" + host + "]";
  return port == (is_tls ? kHttpsPort : kHttpPort) ? name : name + ":" + std::to_string(port);
}

std::string Url::to_string() const {
  return (is_tls ? "https://" : "http://") + authority() + target;
}

std::string Url::shown() const {
  const std::string whole = to_string();
  return whole.substr(0, std::min(whole.find('?'), std::size_t{512}));
}

net::Endpoint Url::endpoint() const { return {.host = host, .port = port}; }

Result<Url> parse_url(std::string_view text) {
  if (text.size() > kUrlBytesMax) return bad_url(text, "longer than 8192 bytes");
  const bool clean = std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!clean) return bad_url(text, "blanks, control and non-ASCII characters must be encoded");
  const std::string scheme = lower(text.substr(0, std::min<std::size_t>(8, text.size())));
  Url url;
  url.is_tls = scheme == "https://";
  if (!url.is_tls && !scheme.starts_with("http://")) {
    return bad_url(text, "expected an http or https address");
  }
  std::string_view rest = text.substr(url.is_tls ? 8 : 7);
  rest = rest.substr(0, rest.find('#'));
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  TRY_OK(read_authority(rest.substr(0, end), text, url));
  rest.remove_prefix(end);
  url.target = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  return url;
}

Result<Url> redirected(const Url& from, std::string_view location) {
  const std::string base = std::string(from.is_tls ? "https://" : "http://") + from.authority();
  const std::string path = from.target.substr(0, from.target.find('?'));
  std::string next;
  if (location.find("://") < location.find_first_of("/?#") + 1) {
    next = location;
  } else if (location.starts_with("//")) {
    next = std::string(from.is_tls ? "https:" : "http:") + std::string(location);
  } else if (location.starts_with('/')) {
    next = base + std::string(location);
  } else if (location.starts_with('?')) {
    next = base + path + std::string(location);
  } else {
    next = base + path.substr(0, path.rfind('/') + 1) + std::string(location);
  }
  TRY(Url url, parse_url(next));
  if (from.is_tls && !url.is_tls) {
    return Error{Code::kPermissionDenied,
                 from.shown() + " leads to " + url.shown() + ", from https to http"};
  }
  return url;
}

}  // namespace kantha::noded
