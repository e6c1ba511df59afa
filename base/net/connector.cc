#include "base/net/connector.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/net/socket_address.h"
#include "base/net/task_group.h"

namespace kantha::net {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

Error refused(const Endpoint& endpoint, int failure) {
  return unavailable("cannot connect to " + endpoint.to_string() + ": " +
                     std::generic_category().message(failure));
}

/// A look-up's answer, shared with a resolver that may come too late.
struct Lookup {
  explicit Lookup(const asio::any_io_executor& executor) : resolver(executor), done(executor) {}
  tcp::resolver resolver;
  Notify done;
  bool has_ended = false;
  error_code failure = {};
  std::vector<Endpoint> found = {};
};

void begin_lookup(const std::shared_ptr<Lookup>& lookup, const Endpoint& endpoint) {
  lookup->resolver.async_resolve(
      endpoint.host, std::to_string(endpoint.port), tcp::resolver::numeric_service,
      [lookup](const error_code& ec, const tcp::resolver::results_type& results) {
        lookup->has_ended = true;
        lookup->failure = ec;
        for (const auto& entry : results) {
          lookup->found.push_back(
              {.host = entry.endpoint().address().to_string(), .port = entry.endpoint().port()});
        }
        lookup->done.notify();
      });
}

Error interrupted() { return {Code::kCancelled, "the connect was cancelled"}; }

Task<Result<std::vector<Endpoint>>> resolve(asio::any_io_executor executor, Endpoint endpoint,
                                            TimePoint deadline,
                                            std::shared_ptr<Interrupt> interrupt) {
  const auto lookup = std::make_shared<Lookup>(executor);
  begin_lookup(lookup, endpoint);
  interrupt->stop = [lookup] {
    lookup->resolver.cancel();
    lookup->done.notify();
  };
  while (!lookup->has_ended) {
    if (interrupt->is_requested) co_return interrupted();
    const Duration left = deadline - system_clock().now();
    if (left <= Duration::zero()) {
      lookup->resolver.cancel();
      co_return Error{Code::kDeadlineExceeded, "looking up " + endpoint.host + " timed out"};
    }
    co_await lookup->done.wait(left);
  }
  if (lookup->failure || lookup->found.empty()) {
    co_return unavailable("cannot look up " + endpoint.host + ": " + lookup->failure.message());
  }
  co_return std::move(lookup->found);
}

Task<Result<TimedSocket>> connect_one(asio::any_io_executor executor, Endpoint endpoint,
                                      SocketAddress address, TimePoint deadline,
                                      std::shared_ptr<Interrupt> interrupt) {
  if (interrupt->is_requested) co_return interrupted();
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) co_return refused(endpoint, errno);
  TimedSocket socket(executor, fd);
  const int failure = ::connect(fd, address.data(), address.length) == 0 ? 0 : errno;
  if (failure == 0) co_return socket;
  if (failure != EINPROGRESS) co_return refused(endpoint, failure);
  interrupt->stop = socket.closer();
  Status connected = co_await socket.finish_connect(deadline);
  if (!connected) {
    co_return std::move(connected).error().with_context("cannot connect to " +
                                                        endpoint.to_string());
  }
  co_return socket;
}

}  // namespace

Task<Result<TimedSocket>> connect_to(asio::any_io_executor executor, Endpoint endpoint,
                                     TimePoint deadline, std::shared_ptr<Interrupt> interrupt) {
  Result<SocketAddress> literal = socket_address(endpoint);
  if (literal) co_return co_await connect_one(executor, endpoint, *literal, deadline, interrupt);
  if (literal.error().code != Code::kNotFound) co_return std::move(literal).error();
  CO_TRY(const std::vector<Endpoint> candidates,
         co_await resolve(executor, std::move(endpoint), deadline, interrupt));
  Result<TimedSocket> last = unavailable("no address");
  for (const Endpoint& candidate : candidates) {
    Result<SocketAddress> address = socket_address(candidate);
    if (!address) continue;
    last = co_await connect_one(executor, candidate, *address, deadline, interrupt);
    if (last.ok() || last.error().code != Code::kUnavailable) break;
  }
  co_return last;
}

}  // namespace kantha::net
