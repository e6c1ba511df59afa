#pragma once

#include <sys/socket.h>

#include <string_view>

#include "base/net/http.h"
#include "base/result.h"

/// Endpoints as the system calls want them.
namespace kantha::net {

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

/// Longest path of a Unix socket: sun_path has 108 bytes with its final zero.
inline constexpr std::size_t kUnixPathBytesMax = 107;

/// The host of an endpoint to listen at that stands for every address; see bind_listening_socket.
inline constexpr std::string_view kEveryAddress = "*";

/// Takes IP literals, "localhost" (127.0.0.1) and Unix paths; other names are kNotFound, to be
/// asked of a resolver. kInvalidArgument for a path that is too long.
Result<SocketAddress> socket_address(const Endpoint& endpoint);

/// The local side of a bound socket.
Result<Endpoint> local_endpoint(int fd);

}  // namespace kantha::net
