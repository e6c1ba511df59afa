#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/net/http.h"
#include "base/result.h"

/// http and https addresses of weights. Pure; any thread.
namespace kantha::noded {

/// A checked address. Its path is only ever sent to a server: no file is named after it.
struct Url {
  bool is_tls = false;
  std::string host;  ///< a name or an IP literal, without brackets
  std::uint16_t port = 80;
  std::string target = "/";  ///< path and query as they are sent

  /// "https://example.com:8443/a/b?key=…"
  std::string to_string() const;
  /// The same without the query, which may hold a signature: for logs, states and conditions.
  std::string shown() const;
  /// What the Host field says: without the port where that is the scheme's own.
  std::string authority() const;
  net::Endpoint endpoint() const;
  bool operator==(const Url&) const = default;
};

inline constexpr std::size_t kUrlBytesMax = 8192;

/// kInvalidArgument says what is wrong; a fragment is dropped; a user name is refused, because
/// addresses are shown to everybody who may read an object.
Result<Url> parse_url(std::string_view text);

/// Where an answer's Location field leads from `from`: an absolute address, or one without scheme,
/// host or leading folders. kPermissionDenied from https to http.
Result<Url> redirected(const Url& from, std::string_view location);

}  // namespace kantha::noded
