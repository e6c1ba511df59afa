#include "base/net/proxy_tunnel.h"

#include <algorithm>
#include <utility>

namespace kantha::net {
namespace {

constexpr std::size_t kAnswerBytesMax = 16u << 10;

Error no_tunnel(const Tunnel& tunnel, const std::string& why) {
  return unavailable("the proxy " + tunnel.proxy.to_string() + " " + why);
}

/// Reads the proxy's answer up to its empty line; what follows belongs to the tunnel.
Task<Status> read_consent(TimedSocket& socket, Tunnel tunnel, TimePoint deadline) {
  std::string answer;
  while (answer.find("\r\n\r\n") == answer.npos) {
    if (answer.size() > kAnswerBytesMax) co_return no_tunnel(tunnel, "answers without an end");
    Result<std::string> piece = co_await socket.read_some(deadline);
    if (!piece) co_return std::move(piece).error().with_context(tunnel.proxy.to_string());
    if (piece->empty()) co_return no_tunnel(tunnel, "closed the connection");
    answer += *piece;
  }
  const std::string line = answer.substr(0, answer.find("\r\n"));
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[9] != '2') {
    co_return no_tunnel(tunnel, "refuses: " + line.substr(0, 100));
  }
  // The client of TLS speaks first: bytes of the other side before that are none of a server's.
  if (!answer.ends_with("\r\n\r\n"))
    co_return no_tunnel(tunnel, "sent bytes that nobody asked for");
  co_return ok_status();
}

}  // namespace

Task<Result<TimedSocket>> connect_through(boost::asio::any_io_executor executor, Tunnel tunnel,
                                          Endpoint endpoint, TimePoint deadline,
                                          std::shared_ptr<Interrupt> interrupt) {
  CO_TRY(TimedSocket socket, co_await connect_to(executor, tunnel.proxy, deadline, interrupt));
  if (interrupt->is_requested) co_return Error{Code::kCancelled, "the connect was cancelled"};
  interrupt->stop = socket.closer();
  const std::string peer = endpoint.to_string();
  std::string ask = "CONNECT " + peer + " HTTP/1.1\r\nHost: " + peer + "\r\n";
  if (!tunnel.authorization.empty()) {
    ask += "Proxy-Authorization: " + tunnel.authorization + "\r\n";
  }
  ask += "\r\n";
  const Duration left = std::max<Duration>(deadline - system_clock().now(), Duration::zero());
  CO_TRY_OK(co_await socket.write_all(std::move(ask), left, deadline));
  CO_TRY_OK(co_await read_consent(socket, tunnel, deadline));
  co_return socket;
}

}  // namespace kantha::net
