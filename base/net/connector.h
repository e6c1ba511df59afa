#pragma once

#include <functional>
#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "base/net/http.h"
#include "base/net/task.h"
#include "base/net/timed_socket.h"
#include "base/result.h"

namespace kantha::net {

/// Where whoever wants an open() to end finds what is under way in it. Lives as long as the open().
struct Interrupt {
  bool is_requested = false;
  std::function<void()> stop = {};

  void request() {
    is_requested = true;
    if (stop) stop();
  }
};

/// Connects to a TCP or Unix endpoint; host names are asked of the system's resolver, and its
/// answers tried in order. kUnavailable names the endpoint; kDeadlineExceeded; kCancelled
/// after interrupt->request(); kInvalidArgument for a Unix path that is too long.
Task<Result<TimedSocket>> connect_to(boost::asio::any_io_executor executor, Endpoint endpoint,
                                     TimePoint deadline, std::shared_ptr<Interrupt> interrupt);

}  // namespace kantha::net
