#pragma once

#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "base/net/task.h"
#include "base/net/timed_socket.h"

/// Notices that a client goes away while its request is being answered.
namespace kantha::net {

/// Waits for the socket to become readable: an end or an error means gone; bytes are the next
/// request, and while they lie unread the state of the connection is looked at every 50 ms.
/// A client that only closes its sending side counts as gone too: HTTP clients that still want the
/// answer do not do that, and nothing else tells a closed laptop from a patient one.
class ClientWatch {
 public:
  ClientWatch(boost::asio::any_io_executor executor, TimedSocket& socket);
  ~ClientWatch();
  /// Calls `on_gone` at most once until stop.
  void start(std::function<void()> on_gone);
  void stop();

 private:
  struct Body;
  static void arm(const std::shared_ptr<Body>& body);
  static void look(const std::shared_ptr<Body>& body);
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::net
