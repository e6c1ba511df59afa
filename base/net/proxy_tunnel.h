#pragma once

#include <memory>
#include <string>

#include "base/net/connector.h"
#include "base/net/http.h"
#include "base/net/task.h"
#include "base/net/timed_socket.h"

/// Connections through an HTTP proxy, by its method CONNECT (RFC 9110, section 9.3.6).
namespace kantha::net {

/// A proxy that is spoken to without TLS.
struct Tunnel {
  Endpoint proxy;
  std::string authorization = {};  ///< value of the field Proxy-Authorization; may be empty
};

/// A connection whose bytes reach `endpoint` through the proxy, which also looks up its name.
/// Errors as connect_to; kUnavailable also when the proxy refuses, with its status.
Task<Result<TimedSocket>> connect_through(boost::asio::any_io_executor executor, Tunnel tunnel,
                                          Endpoint endpoint, TimePoint deadline,
                                          std::shared_ptr<Interrupt> interrupt);

}  // namespace kantha::net
