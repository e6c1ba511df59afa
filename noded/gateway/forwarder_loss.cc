#include <utility>

#include "base/log.h"
#include "base/net/sse.h"
#include "noded/gateway/door_dialect.h"
#include "noded/gateway/door_error.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/stream_chunk.h"

namespace kantha::noded {
namespace {

/// For another pod, which goes on elsewhere: in the words of an engine that ends, whatever the
/// client's dialect.
net::HttpResponse refusal_for_peer(const std::string& message, bool was_ended) {
  return door_error({.status = 503,
                     .message = message,
                     .type = "service_unavailable_error",
                     .code = std::string(was_ended ? kEngineWasEnded : "")});
}

bool came_from_peer(const ForwardExchange& exchange) {
  return exchange.request.headers.find("x-kantha-hop").has_value();
}

constexpr char kNotResumable[] =
    "the engine ended in the middle of the answer, which cannot go on at another: only a stream "
    "of one prompt and one sample can";

}  // namespace

/// A server that took the request is of no more use to it.
net::Task<Forwarder::Turn> Forwarder::lost(Exchange exchange, ForwardTarget target, TargetEnd end) {
  if (exchange->gone || exchange->recalled || expired_) end = TargetEnd::kRecalled;
  close_try(*exchange, target, end);
  if (exchange->gone) co_return Turn::kAnswered;
  if (expired_) {
    co_await refuse(exchange, 503, kDrainIsOver);
    co_return Turn::kAnswered;
  }
  const TimePoint now = clock_.now();
  // A refusal costs nothing but time; whoever lost work gets new time.
  if (end != TargetEnd::kRefused) {
    exchange->deadline =
        now + (exchange->has_begun() ? policy_.resume_timeout : policy_.hold_timeout);
  }
  exchange->lost_at = now;
  const bool was_ended = std::exchange(exchange->was_ended, false);
  const bool is_loss = end != TargetEnd::kRefused && end != TargetEnd::kRecalled;
  if (is_loss) exchange->losses += 1;
  // Another pod gives up when its engine ended.
  const bool may_be_crash =
      end == TargetEnd::kCut || (end == TargetEnd::kGaveUp && !target.is_local && !was_ended);
  if (may_be_crash) exchange->suspect = target;
  co_return co_await after_loss(exchange);
}

/// Whether somebody else goes on.
net::Task<Forwarder::Turn> Forwarder::after_loss(Exchange exchange) {
  if (exchange->shown && !exchange->can_continue()) {
    co_await refuse(exchange, 502, kNotResumable);
    co_return Turn::kAnswered;
  }
  const std::size_t tokens = exchange->tokens();
  if (tokens > std::exchange(exchange->tokens_at_loss, tokens)) {
    exchange->crashes = 0;
    exchange->losses = 0;
  }
  if (exchange->replay) exchange->replay->next_engine();
  if (exchange->ledger) {
    StreamLedger& ledger = *exchange->ledger;
    ledger.next_engine();
    if (std::optional<std::string> end = ledger.missing_end()) {
      counts_.completed += 1;
      exchange->outcome.ended_by = EndedBy::kServer;
      co_await end_with(exchange, *std::move(end));
      co_return Turn::kAnswered;
    }
    if (!ledger.can_continue()) {
      co_await refuse(exchange, 502,
                      "the engine ended in the middle of an answer that the door does not read");
      co_return Turn::kAnswered;
    }
  }
  if (exchange->losses < policy_.losses_max) co_return Turn::kAgain;
  co_await refuse(exchange, 502,
                  std::to_string(exchange->losses) + " engines ended under this request");
  co_return Turn::kAnswered;
}

/// The door's own answer, or the last event of a stream.
net::Task<void> Forwarder::refuse(Exchange exchange, int status, std::string message) {
  ForwardOutcome& outcome = exchange->outcome;
  outcome.ended_by = EndedBy::kDoor;
  outcome.error = message;
  const DoorDialect dialect = dialect_of(exchange->request.path());
  const bool for_peer = status == 503 && came_from_peer(*exchange);
  const bool may_go_on = for_peer && !ends_engines(*exchange) && !exchange->suspect;
  const bool was_ended = may_go_on && exchange->crashes == 0 && exchange->lost_at != TimePoint();
  if (!exchange->writer.started()) {
    net::HttpResponse answer =
        for_peer ? refusal_for_peer(message, was_ended)
                 : in_dialect(dialect, door_error(status, message, status == 503 ? 1 : 0));
    if (leaving()) answer.headers.set("Connection", "close");
    co_await answer_whole(exchange, std::move(answer));
    co_return;
  }
  counts_.broken_streams += 1;
  const bool could_go_on = exchange->ledger || exchange->can_continue();
  if (could_go_on && exchange->has_begun()) counts_.unresumed += 1;
  log_warn("stream lost its engine",
           {{"error", message}, {"tokens", exchange->tokens()}, {"losses", exchange->losses}});
  if (dialect != DoorDialect::kOpenAi && !(for_peer && exchange->can_continue())) {
    std::string end = broken_stream_end(dialect, message, exchange->last_byte);
    co_await end_with(exchange, std::move(end));
    co_return;
  }
  const bool whole_events =
      (exchange->ledger && !exchange->ledger->is_raw()) || exchange->can_continue();
  // The cut may have come in the middle of an event: end that one before ours begins.
  std::string event = whole_events ? "" : "\n\n";
  if (for_peer) {
    const std::string body = refusal_for_peer(message, was_ended).body;
    event += dialect == DoorDialect::kOllama ? body + "\n" : net::sse_data(body);
  } else {
    event += door_error_event(message);
  }
  co_await end_with(exchange, std::move(event));
}

net::Task<void> Forwarder::answer_whole(Exchange exchange, net::HttpResponse response) {
  if (exchange->writer.started()) {
    // Its comments began as a stream, in which the same error object is an event.
    std::string event = net::sse_data(response.body);
    co_await end_with(exchange, std::move(event));
    co_return;
  }
  ForwardOutcome& outcome = exchange->outcome;
  outcome.status = response.status;
  outcome.bytes_sent = static_cast<std::int64_t>(response.body.size());
  outcome.first_byte = clock_.now() - exchange->arrived;
  // That the client has left meanwhile is no error of ours.
  const Status sent = co_await exchange->writer.send(std::move(response));
  if (!sent.ok()) outcome.ended_by = EndedBy::kClient;
}

net::Task<void> Forwarder::end_with(Exchange exchange, std::string event) {
  Status sent = co_await show(exchange, std::move(event));
  if (sent.ok()) sent = co_await exchange->writer.finish();
  if (!sent.ok()) note_unwritten(*exchange, sent);
}

}  // namespace kantha::noded
