#include "base/net/listener.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/net/http_server.h"
#include "base/net/socket_address.h"

namespace kantha::net {
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

std::string errno_text(int error) { return std::generic_category().message(error); }

Error bind_error(const Endpoint& endpoint, int failure) {
  const std::string name = endpoint.to_string();
  const std::string why = errno_text(failure);
  switch (failure) {
    case EADDRINUSE:
      if (endpoint.is_unix()) return {Code::kAlreadyExists, name + " is in use"};
      return {Code::kAlreadyExists,
              "port " + std::to_string(endpoint.port) + " on " + endpoint.host + " is in use"};
    case EACCES:
    case EPERM: return {Code::kPermissionDenied, "cannot listen on " + name + ": " + why};
    case EADDRNOTAVAIL:
    case ENOENT:
    case ENOTDIR: return invalid_argument("cannot listen on " + name + ": " + why);
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return {Code::kResourceExhausted, "cannot listen on " + name + ": " + why};
    default: return internal_error("cannot listen on " + name + ": " + why);
  }
}

/// True when the file is a socket whose owner is gone.
bool is_stale_socket(const Endpoint& endpoint, const SocketAddress& address) {
  struct stat info = {};
  if (::lstat(endpoint.unix_path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return false;
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const bool is_refused =
      ::connect(probe, address.data(), address.length) != 0 && errno == ECONNREFUSED;
  ::close(probe);
  return is_refused;
}

/// Which connections an IPv6 socket takes.
enum class Families : unsigned char { kOwn, kBoth };

bool has_ipv6() {
  const int probe = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe >= 0) ::close(probe);
  return probe >= 0;
}

/// Binds and listens; 0 or an errno.
int bind_and_listen(int fd, const Endpoint& endpoint, const SocketAddress& address,
                    Families families) {
  const int on = 1;
  if (endpoint.is_unix()) {
    // Before bind: the file must never be there with wider rights, not even for a moment.
    ::fchmod(fd, S_IRUSR | S_IWUSR);
  } else {
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.family() == AF_INET6) {
      const int is_alone = families == Families::kOwn ? 1 : 0;
      ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &is_alone, sizeof is_alone);
    }
  }
  int bound = ::bind(fd, address.data(), address.length);
  if (bound != 0 && errno == EADDRINUSE && endpoint.is_unix() &&
      is_stale_socket(endpoint, address)) {
    ::unlink(endpoint.unix_path.c_str());
    bound = ::bind(fd, address.data(), address.length);
  }
  if (bound != 0) return errno != 0 ? errno : EADDRINUSE;
  return ::listen(fd, SOMAXCONN) == 0 ? 0 : errno;
}

}  // namespace

Result<int> bind_listening_socket(const Endpoint& endpoint) {
  const bool wants_all = endpoint.host == kEveryAddress;
  Endpoint where = endpoint;
  if (wants_all) where.host = has_ipv6() ? "::" : "0.0.0.0";
  Result<SocketAddress> address = socket_address(where);
  if (!address) {
    return invalid_argument(std::move(address).error().message, "listen");
  }
  const int fd = ::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return bind_error(endpoint, errno);
  const int failure =
      bind_and_listen(fd, endpoint, *address, wants_all ? Families::kBoth : Families::kOwn);
  if (failure != 0) {
    ::close(fd);
    return bind_error(endpoint, failure);
  }
  return fd;
}

Result<std::pair<int, Endpoint>> open_listener(const Endpoint& endpoint) {
  TRY(const int fd, bind_listening_socket(endpoint));
  Result<Endpoint> real = local_endpoint(fd);
  if (!real) {
    ::close(fd);
    return std::move(real).error();
  }
  return std::pair(fd, *real);
}

Status prepare_adopted_socket(int fd) {
  int is_listening = 0;
  socklen_t size = sizeof is_listening;
  const bool is_socket = ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == 0;
  if (!is_socket || is_listening == 0) {
    if (fd >= 0) ::close(fd);
    return invalid_argument("descriptor " + std::to_string(fd) + " is not a listening socket");
  }
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return ok_status();
}

Listener::Listener(const asio::any_io_executor& executor, int fd, std::string unlink_path)
    : descriptor_(executor, fd), unlink_path_(std::move(unlink_path)) {
  struct stat info = {};
  if (!unlink_path_.empty() && ::lstat(unlink_path_.c_str(), &info) == 0) {
    device_ = info.st_dev;
    inode_ = info.st_ino;
  }
}

Listener::~Listener() { close(); }

Task<bool> Listener::wait(std::shared_ptr<Listener> self) {
  if (!self->is_open()) co_return false;
  error_code ec;
  co_await self->descriptor_.async_wait(asio::posix::descriptor_base::wait_read,
                                        asio::redirect_error(asio::use_awaitable, ec));
  co_return self->is_open();
}

Accepted Listener::accept() {
  using Kind = Accepted::Kind;
  const int fd =
      ::accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) return {.kind = Kind::kConnection, .fd = fd};
  switch (errno) {
    case EAGAIN: return {.kind = Kind::kNothing};
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH: return {.kind = Kind::kSkip};
    default: return {.kind = Kind::kExhausted, .error = errno};
  }
}

void Listener::close() {
  if (!is_open()) return;
  error_code ignored;
  descriptor_.close(ignored);
  struct stat info = {};
  if (!unlink_path_.empty() && ::lstat(unlink_path_.c_str(), &info) == 0 &&
      info.st_dev == device_ && info.st_ino == inode_) {
    ::unlink(unlink_path_.c_str());
  }
}

}  // namespace kantha::net
