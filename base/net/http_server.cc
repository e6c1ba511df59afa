#include "base/net/http_server.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "base/log.h"
#include "base/net/http_session.h"
#include "base/net/listener.h"
#include "base/net/socket_address.h"
#include "base/net/task_ledger.h"

namespace kantha::net {
namespace asio = boost::asio;

namespace {

constexpr Duration kAcceptBackoff = std::chrono::milliseconds(100);
/// How long drain lets handlers unwind after it closed their connections.
constexpr Duration kUnwindTime = std::chrono::seconds(1);
/// Connections accepted in one turn, so that the open ones get theirs.
constexpr int kAcceptsInARow = 64;
/// The same on a socket that other processes accept from too, so that they get theirs.
constexpr int kSharedAcceptsInARow = 1;
/// Connections over the limit that are still told so; the rest is just closed.
constexpr std::size_t kTurnedAwayMax = 64;

/// Starts the connection, or says no to it.
void admit(const std::shared_ptr<ServerState>& state, const std::shared_ptr<TaskLedger>& ledger,
           int fd) {
  const std::size_t open_count = state->sessions.size();
  if (open_count >= state->limits.connections_max + kTurnedAwayMax) {
    ::close(fd);
    return;
  }
  const bool is_full = open_count >= state->limits.connections_max;
  auto session = std::make_shared<HttpSession>(state, fd);
  ledger->spawn(is_full ? HttpSession::turn_away(std::move(session))
                        : HttpSession::serve(std::move(session)));
}

Task<void> accept_connections(std::shared_ptr<ServerState> state,
                              std::shared_ptr<TaskLedger> ledger,
                              std::shared_ptr<Listener> listener, int accepts_in_a_row) {
  bool was_exhausted = false;
  while (co_await Listener::wait(listener)) {
    Accepted accepted;
    for (int i = 0; i < accepts_in_a_row; ++i) {
      accepted = listener->accept();
      if (accepted.kind == Accepted::Kind::kConnection) admit(state, ledger, accepted.fd);
      if (accepted.kind == Accepted::Kind::kNothing) break;
      if (accepted.kind == Accepted::Kind::kExhausted) break;
    }
    const bool is_exhausted = accepted.kind == Accepted::Kind::kExhausted;
    if (is_exhausted) {
      // One line for each time it starts, not ten a second.
      if (!was_exhausted) log_warn("cannot accept connections", {{"errno", accepted.error}});
      co_await sleep_for(kAcceptBackoff);
    }
    was_exhausted = is_exhausted;
  }
}

Task<void> wait_until_idle(std::shared_ptr<ServerState> state, TimePoint deadline) {
  while (state->active_requests > 0) {
    const Duration left = deadline - system_clock().now();
    if (left <= Duration::zero()) co_return;
    co_await state->changed.wait(left);
  }
}

}  // namespace

struct HttpServer::Body {
  static Task<void> drain(std::shared_ptr<Body> self, Duration timeout);
  Result<Endpoint> serve(int fd, std::string unlink_path, int accepts_in_a_row);
  void stop_accepting();
  void close_idle();
  void close();

  std::shared_ptr<ServerState> state;
  std::shared_ptr<TaskLedger> ledger;
  std::vector<std::shared_ptr<Listener>> listeners = {};
};

Result<Endpoint> HttpServer::Body::serve(int fd, std::string unlink_path, int accepts_in_a_row) {
  Result<Endpoint> real = local_endpoint(fd);
  if (!real) {
    ::close(fd);
    return std::move(real).error();
  }
  auto listener = std::make_shared<Listener>(state->executor, fd, std::move(unlink_path));
  listeners.push_back(listener);
  ledger->spawn(accept_connections(state, ledger, std::move(listener), accepts_in_a_row));
  return real;
}

void HttpServer::Body::stop_accepting() {
  state->is_stopping = true;
  for (const auto& listener : listeners) listener->close();
  listeners.clear();
}

void HttpServer::Body::close_idle() {
  const std::vector<HttpSession*> sessions(state->sessions.begin(), state->sessions.end());
  for (HttpSession* session : sessions) {
    if (state->sessions.contains(session) && session->is_idle()) session->close();
  }
}

void HttpServer::Body::close() {
  stop_accepting();
  // A copy: a callback of a handler may end other sessions.
  const std::vector<HttpSession*> sessions(state->sessions.begin(), state->sessions.end());
  for (HttpSession* session : sessions) {
    if (state->sessions.contains(session)) session->close();
  }
}

Task<void> HttpServer::Body::drain(std::shared_ptr<Body> self, Duration timeout) {
  self->stop_accepting();
  co_await wait_until_idle(self->state, deadline_after(timeout));
  self->close();
  const TimePoint deadline = deadline_after(kUnwindTime);
  while (!self->state->sessions.empty()) {
    const Duration left = deadline - system_clock().now();
    if (left <= Duration::zero()) break;
    co_await self->state->changed.wait(left);
  }
}

HttpServer::HttpServer(asio::any_io_executor executor, HttpHandler handler, HttpLimits limits)
    : body_(std::make_shared<Body>(
          std::make_shared<ServerState>(executor, std::move(handler), limits),
          std::make_shared<TaskLedger>(executor, "http server"))) {}

HttpServer::~HttpServer() { body_->close(); }

void HttpServer::set_tls(std::shared_ptr<const TlsContext> context) {
  const bool is_other = body_->state->tls != nullptr && body_->state->tls != context;
  body_->state->tls = std::move(context);
  if (is_other) body_->close_idle();
}

Result<Endpoint> HttpServer::listen(const Endpoint& endpoint) {
  TRY(const int fd, bind_listening_socket(endpoint));
  return body_->serve(fd, endpoint.unix_path, kAcceptsInARow);
}

Result<Endpoint> HttpServer::adopt(int listening_fd) {
  TRY_OK(prepare_adopted_socket(listening_fd));
  return body_->serve(listening_fd, "", kSharedAcceptsInARow);
}

void HttpServer::stop_accepting() { body_->stop_accepting(); }
std::size_t HttpServer::active_requests() const { return body_->state->active_requests; }
std::size_t HttpServer::open_connections() const { return body_->state->sessions.size(); }
Task<void> HttpServer::drain(Duration timeout) { return Body::drain(body_, timeout); }
void HttpServer::close() { body_->close(); }

}  // namespace kantha::net
