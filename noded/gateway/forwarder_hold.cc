#include <algorithm>
#include <utility>

#include "base/net/sse.h"
#include "noded/gateway/door_dialect.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/held_count.h"

namespace kantha::noded {
namespace {

/// So that a client that leaves while it waits is noticed.
constexpr Duration kHoldTurn = std::chrono::milliseconds(100);
/// How long a keeper may take to see how its engine ended.
constexpr Duration kVerdictTime = std::chrono::milliseconds(500);

/// What an engine says before its stream (engine/serve/generation.cc).
net::Headers stream_headers() {
  return {{"Content-Type", "text/event-stream; charset=utf-8"},
          {"Cache-Control", "no-cache"},
          {"X-Accel-Buffering", "no"}};
}

}  // namespace

/// Waits until somebody may have the request. Nothing: it was answered here, or the client left.
net::Task<std::optional<ForwardTarget>> Forwarder::hold(Exchange exchange) {
  if (!exchange->writer.started() && counts_.held >= policy_.held_max) {
    co_await refuse(exchange, 503,
                    "the engine is not ready and " + std::to_string(policy_.held_max) +
                        " requests wait for it already");
    co_return std::nullopt;
  }
  const HeldCount held(counts_.held);
  const TimePoint began = clock_.now();
  while (!exchange->gone) {
    const TimePoint now = clock_.now();
    exchange->outcome.held += now - std::max(began, exchange->last_look);
    exchange->last_look = now;
    if (expired_) {
      co_await refuse(exchange, 503, kDrainIsOver);
      break;
    }
    TargetChoice choice = chooser_.choose({.request = exchange->request,
                                           .tried = exchange->tried,
                                           .local_allowed = !holding_,
                                           .is_running = exchange->awaits_more(),
                                           .local_last = leaving() && !exchange->has_begun(),
                                           .memo = exchange->memo});
    const bool is_late = now >= exchange->deadline;
    // Somebody who is there and takes nothing must not be asked for ever.
    if (choice.target && (!is_late || exchange->tried.empty())) co_return choice.target;
    if (choice.target) choice.why = "no engine took the request in time";
    // Why its engine ended is known in a moment, and whoever asks next wants to know it.
    const bool is_open =
        !ends_engines(*exchange) && exchange->suspect && now - exchange->lost_at < kVerdictTime;
    if (is_late || (choice.hopeless && !is_open)) {
      co_await refuse(exchange, 503, std::move(choice.why));
      break;
    }
    const bool is_there = co_await wait_turn(exchange);
    if (!is_there) break;
  }
  co_return std::nullopt;
}

/// Waits until something may have changed; false when the client cannot be reached any more.
net::Task<bool> Forwarder::wait_turn(Exchange exchange) {
  const Status shown = co_await show_sign(exchange);
  if (!shown.ok()) {
    note_unwritten(*exchange, shown);
    co_return false;
  }
  const Duration left = exchange->deadline - clock_.now();
  const Duration turn = std::clamp<Duration>(left, Duration::zero(), kHoldTurn);
  if (holding_) {
    co_await changed_.wait(turn);
  } else {
    co_await chooser_.wait_for_change(turn);
  }
  co_return true;
}

/// Clients and proxies end a connection on which nothing comes. One that asked for a stream gets
/// its beginning for that, also before any engine has the request; an error is an event then.
net::Task<Status> Forwarder::show_sign(Exchange exchange) {
  const TimePoint now = clock_.now();
  // Ollama's clients read every line as JSON.
  const bool has_signs = dialect_of(exchange->request.path()) != DoorDialect::kOllama;
  const bool is_stream = has_signs && (exchange->plan || exchange->writer.started());
  if (!is_stream || now - exchange->last_sign < policy_.comment_every) co_return ok_status();
  exchange->last_sign = now;
  if (!exchange->writer.started()) {
    net::Headers headers = stream_headers();
    const Status begun = co_await begin_stream(exchange, 200, std::move(headers));
    if (!begun.ok()) co_return begun;
  }
  std::string comment = net::sse_comment("keep-alive");
  co_return co_await show(exchange, std::move(comment));
}

}  // namespace kantha::noded
