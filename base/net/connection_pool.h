#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/net/timed_socket.h"

/// Connections of an HTTP client that wait for their next request.
namespace kantha::net {

class ConnectionPool {
 public:
  /// The most recently used connection to that peer that still looks alive.
  std::optional<TimedSocket> take(const std::string& peer);
  /// Keeps a connection whose last answer was read to its end; the oldest go when there are many.
  void put(const std::string& peer, TimedSocket socket);

 private:
  struct Idle {
    TimedSocket socket;
    TimePoint since;
  };
  void drop_old();

  std::map<std::string, std::deque<Idle>> idle_;
};

}  // namespace kantha::net
