#include "operator/kube/server_url.h"

#include <algorithm>

namespace kantha::kube {
namespace {

Error bad_url(std::string_view text, std::string_view why) {
  return invalid_argument("expected https://HOST[:PORT], got \"" +
                              std::string(text.substr(0, 200)) + "\": " + std::string(why),
                          "server");
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

/// A path that can stand in a request line as it is.
bool is_plain_path(std::string_view path) {
  return std::ranges::all_of(path,
                             [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
}

}  // namespace

Result<ServerUrl> parse_server_url(std::string_view text) {
  ServerUrl url;
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    url.is_tls = false;
  } else {
    return bad_url(text, "no scheme");
  }
  std::string authority(rest.substr(0, rest.find('/')));
  std::string_view path = rest.substr(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!is_plain_path(path)) return bad_url(text, "a path with blanks, ? or #");
  url.path = path;
  const bool has_port = !authority.ends_with(']') &&
                        authority.find(':', authority.starts_with('[') ? authority.find(']') : 0) !=
                            std::string::npos;
  if (!has_port) authority += url.is_tls ? ":443" : ":80";
  const Result<net::Endpoint> endpoint = net::parse_endpoint(authority);
  if (!endpoint || endpoint->is_unix()) return bad_url(text, "bad host or port");
  if (endpoint->port == 0) return bad_url(text, "port 0");
  url.endpoint = *endpoint;
  if (!url.is_tls && !is_loopback(url.endpoint.host)) {
    return bad_url(text, "without TLS only loopback addresses are taken");
  }
  return url;
}

}  // namespace kantha::kube
