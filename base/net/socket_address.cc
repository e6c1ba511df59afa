#include "base/net/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace kantha::net {
namespace {

Result<SocketAddress> unix_address(const std::string& path) {
  if (path.size() > kUnixPathBytesMax) {
    return invalid_argument("unix socket path: expected at most " +
                            std::to_string(kUnixPathBytesMax) + " bytes, got " +
                            std::to_string(path.size()) + " in \"" + path + "\"");
  }
  SocketAddress address;
  sockaddr_un raw = {};
  raw.sun_family = AF_UNIX;
  std::memcpy(raw.sun_path, path.data(), path.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  std::memcpy(&address.storage, &raw, sizeof raw);
  return address;
}

}  // namespace

Result<SocketAddress> socket_address(const Endpoint& endpoint) {
  if (endpoint.is_unix()) return unix_address(endpoint.unix_path);
  const std::string host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host;
  SocketAddress address;
  sockaddr_in v4 = {};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.length = sizeof v4;
    return address;
  }
  sockaddr_in6 v6 = {};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.length = sizeof v6;
    return address;
  }
  return not_found("host: expected an IP address or localhost, got \"" + endpoint.host + "\"");
}

Result<Endpoint> local_endpoint(int fd) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return invalid_argument("descriptor " + std::to_string(fd) +
                            " is no socket: " + std::generic_category().message(errno));
  }
  Endpoint endpoint;
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (address.family() == AF_INET) {
    sockaddr_in raw = {};
    std::memcpy(&raw, &address.storage, sizeof raw);
    endpoint.host = ::inet_ntop(AF_INET, &raw.sin_addr, text.data(), text.size());
    endpoint.port = ntohs(raw.sin_port);
  } else if (address.family() == AF_INET6) {
    sockaddr_in6 raw = {};
    std::memcpy(&raw, &address.storage, sizeof raw);
    endpoint.host = ::inet_ntop(AF_INET6, &raw.sin6_addr, text.data(), text.size());
    endpoint.port = ntohs(raw.sin6_port);
  } else if (address.family() == AF_UNIX) {
    sockaddr_un raw = {};
    std::memcpy(&raw, &address.storage, sizeof raw);
    endpoint.unix_path = raw.sun_path;
  } else {
    return invalid_argument("descriptor " + std::to_string(fd) + " is neither TCP nor Unix");
  }
  return endpoint;
}

}  // namespace kantha::net
