#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include <boost/asio/posix/stream_descriptor.hpp>
#include "base/net/task.h"

#include "base/net/http.h"
#include "base/result.h"

/// Listening sockets: making them, waiting on them, taking connections from them.
namespace kantha::net {

/// Binds and listens; the caller owns the descriptor (non-blocking, close-on-exec). The host "*" is
/// every address of both families (of IPv4 alone where the kernel has no IPv6): one socket for
/// clusters of either; "::" is IPv6 alone.
/// Errors as HttpServer::listen.
Result<int> bind_listening_socket(const Endpoint& endpoint);

/// Checks that somebody else's descriptor listens, and makes it non-blocking and close-on-exec.
/// On an error the descriptor is closed.
Status prepare_adopted_socket(int fd);

/// What one try to accept gave.
struct Accepted {
  enum class Kind : unsigned char {
    kConnection,
    kNothing,    ///< no connection waits (another process may have been quicker)
    kSkip,       ///< one connection was lost before we took it; try again
    kExhausted,  ///< out of descriptors or memory: back off
  };
  Kind kind = Kind::kNothing;
  int fd = -1;
  int error = 0;
};

/// A listening socket on an executor. Several processes may accept from one socket.
class Listener {
 public:
  /// Takes ownership of `fd`. `unlink_path`: socket file to remove on close; may be empty.
  Listener(const boost::asio::any_io_executor& executor, int fd, std::string unlink_path);
  ~Listener();

  /// Waits until a connection may be there; false once closed.
  static Task<bool> wait(std::shared_ptr<Listener> self);
  Accepted accept();
  bool is_open() const { return descriptor_.is_open(); }
  /// Also removes the socket file, if it is still ours.
  void close();

 private:
  boost::asio::posix::stream_descriptor descriptor_;
  std::string unlink_path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace kantha::net
