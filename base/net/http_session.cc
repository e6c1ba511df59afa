#include "base/net/http_session.h"

#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"

namespace kantha::net {
namespace {

constexpr Duration kLingerTime = std::chrono::seconds(1);

/// Counts a running handler, however it ends.
class ActiveRequest {
 public:
  explicit ActiveRequest(ServerState& state) : state_(state) { ++state_.active_requests; }
  ~ActiveRequest() {
    --state_.active_requests;
    state_.changed.notify();
  }
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;

 private:
  ServerState& state_;
};

/// Runs the handler; gives what() of an exception that left it.
Task<std::optional<std::string>> run_handler(std::shared_ptr<ServerState> state,
                                             HttpRequest request, ResponseWriter& writer) {
  std::optional<std::string> failure;
  try {
    co_await state->handler(std::move(request), writer);
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {
    failure = "not a std::exception";
  }
  co_return failure;
}

}  // namespace

HttpSession::HttpSession(std::shared_ptr<ServerState> state, int fd)
    : state_(std::move(state)),
      socket_(state_->executor, fd),
      reader_(socket_, state_->limits, state_->bodies_bytes),
      watch_(state_->executor, socket_) {
  state_->sessions.insert(this);
}

HttpSession::~HttpSession() {
  state_->sessions.erase(this);
  state_->changed.notify();
}

void HttpSession::close() {
  socket_.close();
  if (writer_ != nullptr) writer_->mark_gone();
}

Task<void> HttpSession::serve(std::shared_ptr<HttpSession> self) {
  if (self->state_->tls) {
    const TimePoint deadline = deadline_after(self->state_->limits.header_timeout);
    self->tls_ = self->state_->tls;
    auto session = self->tls_->new_session({});
    const Status shaken = co_await self->socket_.start_tls(std::move(session), deadline);
    // Whoever speaks no TLS cannot be told so.
    if (!shaken) co_return;
    self->tls_peer_ = self->socket_.verified_peer();
  }
  bool keeps_connection = true;
  while (keeps_connection) {
    ReadOutcome outcome = co_await self->reader_.next();
    if (std::holds_alternative<ConnectionEnd>(outcome)) co_return;
    if (auto* refusal = std::get_if<Refusal>(&outcome)) {
      co_await self->refuse(std::move(*refusal));
      co_return;
    }
    keeps_connection = co_await self->answer(std::get<IncomingRequest>(std::move(outcome)));
    keeps_connection = keeps_connection && self->tls_ == self->state_->tls;
    // A client that pipelines gets no more turns in a row than others.
    co_await boost::asio::post(boost::asio::use_awaitable);
  }
  co_await self->linger();
}

Task<void> HttpSession::turn_away(std::shared_ptr<HttpSession> self) {
  if (!self->state_->tls) co_await self->refuse({503, "too many connections"});
}

Task<bool> HttpSession::answer(IncomingRequest incoming) {
  const ActiveRequest active(*state_);
  SessionWriter writer(socket_, state_->limits, incoming.facts, state_->is_stopping);
  writer.set_tls_peer(tls_peer_);
  writer_ = &writer;
  watch_.start([&writer] { writer.mark_gone(); });
  const std::string method = incoming.request.method;
  const std::string path(incoming.request.path());
  const auto failure = co_await run_handler(state_, std::move(incoming.request), writer);
  watch_.stop();
  if (failure) {
    log_error("handler failed", {{"method", method}, {"path", path}, {"error", *failure}});
  } else if (!writer.is_finished() && !writer.client_gone() && !writer.is_aborted()) {
    log_error("handler gave no complete answer", {{"method", method}, {"path", path}});
  }
  if (!writer.started() && writer.client_gone() && !failure) {
    // The handler gave up for a client that left; one that only closed its sending side must not
    // read that we are at fault.
    writer.abort();
  } else if (!writer.started()) {
    HttpResponse response = error_answer(500, "internal error");
    // Whether it arrives is the client's matter.
    (void)co_await writer.send(std::move(response));
  } else if (!writer.is_finished()) {
    writer.abort();
  }
  writer_ = nullptr;
  co_return writer.keeps_connection();
}

Task<void> HttpSession::refuse(Refusal refusal) {
  const HttpResponse response = error_answer(refusal.status, refusal.message);
  std::string wire = render_answer_head(refusal.status, response.headers,
                                        {.body = BodyFraming::kLength,
                                         .content_length = response.body.size(),
                                         .keep_alive = false,
                                         .is_http_10 = false,
                                         .now = system_clock().wall_now()});
  wire += response.body;
  const Status sent =
      co_await socket_.write_all(std::move(wire), state_->limits.write_stall_timeout);
  if (sent) co_await linger();
}

Task<void> HttpSession::linger() {
  socket_.shutdown_send();
  const TimePoint deadline = deadline_after(kLingerTime);
  while (true) {
    const Result<std::string> bytes = co_await socket_.read_some(deadline);
    if (!bytes || bytes->empty()) break;
  }
  socket_.close();
}

}  // namespace kantha::net
