#include "noded/gateway/forwarder.h"

#include <algorithm>
#include <array>

#include "base/log.h"
#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

/// Fields that belong to one connection and are never passed on (RFC 9110, section 7.6.1).
constexpr std::array<std::string_view, 11> kHopFields = {"Connection",
                                                         "Keep-Alive",
                                                         "Proxy-Connection",
                                                         "Proxy-Authenticate",
                                                         "Proxy-Authorization",
                                                         "TE",
                                                         "Trailer",
                                                         "Transfer-Encoding",
                                                         "Upgrade",
                                                         "Expect",
                                                         "Content-Length"};

net::Headers end_to_end(net::Headers headers) {
  for (const std::string_view name : kHopFields) headers.remove(name);
  return headers;
}

bool is_event_stream(const net::Headers& headers) {
  const std::optional<std::string_view> type = headers.find("Content-Type");
  return type && type->starts_with("text/event-stream");
}

/// Between two tries, so that the supervisor sees what happened first.
constexpr Duration kForwardRetryPause = std::chrono::milliseconds(60);
constexpr int kLostMax = 2;

/// The engine took nothing on: it drains, and the next one will answer.
bool is_refused_by_drain(const net::HttpResponse& response) {
  constexpr int kUnavailable = 503;
  return response.status == kUnavailable &&
         response.body.find("\"server_draining\"") != std::string::npos;
}
constexpr Duration kHoldTurn = std::chrono::milliseconds(100);

/// Adds one to a count for as long as it lives.
class Counted {
 public:
  explicit Counted(std::int64_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::int64_t& count_;
};

}  // namespace

/// One client's request while it is being answered.
struct Forwarder::Exchange {
  net::HttpRequest request;
  net::ResponseWriter& writer;
  TimePoint deadline;  ///< until when it may wait for an engine
  std::shared_ptr<net::CancelSignal> cancel = std::make_shared<net::CancelSignal>();
  /// Times an engine took the request and ended before it answered.
  int lost = 0;
};

Forwarder::Forwarder(boost::asio::any_io_executor executor, EngineGate& gate,
                     net::HttpClient& client, ForwardPolicy policy, const Clock& clock)
    : gate_(gate), client_(client), policy_(policy), clock_(clock), changed_(executor) {}

void Forwarder::set_holding(bool on) {
  holding_ = on;
  changed_.notify();
}

net::Task<bool> Forwarder::wait_idle(Duration timeout) {
  const TimePoint until = clock_.now() + timeout;
  while (dispatched() > 0) {
    const TimePoint now = clock_.now();
    if (now >= until) co_return false;
    co_await changed_.wait(until - now);
  }
  co_return true;
}

net::Task<void> Forwarder::forward(net::HttpRequest request, net::ResponseWriter& writer) {
  counts_.total += 1;
  if (draining_) {
    net::HttpResponse refusal = door_error(503, "this pod is draining", 1);
    refusal.headers.set("Connection", "close");
    co_await door_send(writer, std::move(refusal));
    co_return;
  }
  const Counted in_flight(counts_.in_flight);
  request.headers = end_to_end(std::move(request.headers));
  request.headers.remove("Host");
  auto exchange =
      std::make_shared<Exchange>(std::move(request), writer, clock_.now() + policy_.hold_timeout);
  writer.on_client_gone([cancel = exchange->cancel] { cancel->cancel(); });
  while (!exchange->cancel->cancelled()) {
    const bool may_send = co_await hold(exchange);
    if (!may_send) break;
    const Turn turn = co_await attempt(exchange);
    changed_.notify();
    if (turn == Turn::kAnswered) break;
    counts_.retried += 1;
    gate_.suspect();
    co_await net::sleep_for(kForwardRetryPause);
  }
}

net::Task<bool> Forwarder::hold(std::shared_ptr<Exchange> exchange) {
  if (counts_.held >= policy_.held_max) {
    co_await door_send(exchange->writer, door_error(503,
                                                    "the engine is not ready and " +
                                                        std::to_string(policy_.held_max) +
                                                        " requests wait for it already",
                                                    1));
    co_return false;
  }
  const Counted held(counts_.held);
  while (true) {
    const TimePoint now = clock_.now();
    if (exchange->cancel->cancelled()) co_return false;
    if (gate_.phase() == EnginePhase::kReady && !holding_) co_return true;
    const bool hopeless =
        gate_.phase() == EnginePhase::kCrashLoop || gate_.phase() == EnginePhase::kStopped;
    if (hopeless || now >= exchange->deadline) {
      co_await door_send(exchange->writer, door_error(503, "no engine: " + gate_.message(), 1));
      co_return false;
    }
    // Short turns, so that a client that leaves while it waits is noticed.
    const Duration turn = std::min<Duration>(exchange->deadline - now, kHoldTurn);
    if (holding_) {
      co_await changed_.wait(turn);
    } else {
      co_await gate_.wait_ready(turn);
    }
  }
}

net::Task<Forwarder::Turn> Forwarder::attempt(std::shared_ptr<Exchange> exchange) {
  net::HttpRequest copy = exchange->request;
  Result<std::unique_ptr<net::ResponseStream>> opened = co_await client_.open(
      gate_.endpoint(), std::move(copy), policy_.answer_timeout, exchange->cancel);
  if (exchange->cancel->cancelled()) co_return Turn::kAnswered;
  if (!opened.ok()) {
    const Code code = opened.error().code;
    if (code == Code::kUnavailable) co_return Turn::kAgain;  // nobody took it
    if (code == Code::kDataLoss) co_return co_await lost(exchange);
    log_warn("engine gave no answer", {{"error", opened.error().to_string()}});
    co_await door_send(exchange->writer, door_error(504, "the engine gave no answer in time"));
    co_return Turn::kAnswered;
  }
  std::shared_ptr<net::ResponseStream> answer = std::move(opened).value();
  if (!is_event_stream(answer->headers())) co_return co_await relay_whole(exchange, answer);
  co_await relay_stream(exchange, answer);
  co_return Turn::kAnswered;
}

net::Task<Forwarder::Turn> Forwarder::lost(std::shared_ptr<Exchange> exchange) {
  exchange->lost += 1;
  if (exchange->lost < kLostMax) co_return Turn::kAgain;
  // It may be the request itself that ends engines; it gets no third one.
  co_await door_send(exchange->writer,
                     door_error(502, std::to_string(kLostMax) +
                                         " engines ended while they worked on this request"));
  co_return Turn::kAnswered;
}

net::Task<Forwarder::Turn> Forwarder::relay_whole(std::shared_ptr<Exchange> exchange,
                                                  std::shared_ptr<net::ResponseStream> answer) {
  exchange->cancel->on_cancel([answer] { answer->cancel(); });
  net::HttpResponse response;
  response.status = answer->status();
  response.headers = answer_headers(answer->headers());
  while (true) {
    Result<std::string> piece = co_await answer->read(policy_.silence_timeout);
    if (exchange->cancel->cancelled()) co_return Turn::kAnswered;
    if (!piece.ok()) co_return co_await lost(exchange);
    if (piece->empty()) break;
    response.body += *piece;
    if (response.body.size() > policy_.answer_bytes_max) {
      co_await door_send(exchange->writer, door_error(502, "the engine's answer is too large"));
      co_return Turn::kAnswered;
    }
  }
  if (is_refused_by_drain(response) && !draining_) co_return Turn::kAgain;
  co_await door_send(exchange->writer, std::move(response));
  co_return Turn::kAnswered;
}

net::Headers Forwarder::answer_headers(net::Headers headers) const {
  net::Headers kept = end_to_end(std::move(headers));
  if (leaving()) kept.set("Connection", "close");
  return kept;
}

net::Task<void> Forwarder::relay_stream(std::shared_ptr<Exchange> exchange,
                                        std::shared_ptr<net::ResponseStream> answer) {
  exchange->cancel->on_cancel([answer] { answer->cancel(); });
  net::ResponseWriter& writer = exchange->writer;
  Status sent = co_await writer.start(answer->status(), answer_headers(answer->headers()));
  while (sent.ok()) {
    Result<std::string> piece = co_await answer->read(policy_.silence_timeout);
    if (exchange->cancel->cancelled()) break;
    if (!piece.ok()) {
      counts_.broken_streams += 1;
      gate_.suspect();
      log_warn("stream lost its engine", {{"error", piece.error().to_string()}});
      // The cut may have come in the middle of an event: end that one before ours begins.
      std::string event = "\n\n" + door_error_event("the engine ended in the middle of the answer");
      sent = co_await writer.write(std::move(event));
      if (sent.ok()) sent = co_await writer.finish();
      co_return;
    }
    if (piece->empty()) {
      sent = co_await writer.finish();
      co_return;
    }
    sent = co_await writer.write(std::move(*piece));
  }
  answer->cancel();
}

}  // namespace kantha::noded
