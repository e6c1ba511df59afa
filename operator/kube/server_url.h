#pragma once

#include <string>
#include <string_view>

#include "base/net/http.h"
#include "base/result.h"

namespace kantha::kube {

/// The address of an API server, taken apart. Value; any thread.
struct ServerUrl {
  bool is_tls = true;
  net::Endpoint endpoint;  ///< host without brackets
  std::string path;        ///< before every target, without a final slash; mostly empty

  bool has_ipv6_literal() const { return endpoint.host.find(':') != std::string::npos; }
};

/// Reads "https://HOST[:PORT][/PATH]". http is taken for loopback addresses only, because tokens
/// would travel in the clear. kInvalidArgument names the text.
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace kantha::kube
