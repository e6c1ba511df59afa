#include <utility>

#include "base/log.h"
#include "noded/gateway/forwarder.h"
#include "noded/gateway/held_count.h"

namespace kantha::noded {
namespace {

/// Events, or Ollama's lines.
bool is_stream(const net::Headers& headers) {
  const std::optional<std::string_view> type = headers.find("Content-Type");
  return type && (type->starts_with("text/event-stream") || *type == "application/x-ndjson");
}

}  // namespace

net::Task<Forwarder::Turn> Forwarder::attempt(Exchange exchange, ForwardTarget target) {
  exchange->sent = clock_.now();
  exchange->recalled = false;
  exchange->cancel = std::make_shared<net::CancelSignal>();
  exchange->outcome.target = target.name;
  if (!exchange->suspect) exchange->ends_before = chooser_.ends(target).count;
  if (target.is_local && !exchange->has_begun()) on_local_(exchange->request);
  net::HttpRequest copy = exchange->for_target(target, exchange->sent);
  const Duration timeout = exchange->has_begun() ? policy_.silence_timeout : policy_.answer_timeout;
  const HeldCount elsewhere(counts_.at_peers, target.is_local ? 0 : 1);
  chooser_.began(target);
  Result<std::unique_ptr<net::ResponseStream>> opened =
      co_await client_.open(target.endpoint, std::move(copy), timeout, exchange->cancel);
  if (!opened.ok()) {
    Error error = std::move(opened).error();
    co_return co_await unopened(exchange, std::move(target), std::move(error));
  }
  Answer answer = std::move(opened).value();
  if (!chooser_.answered(target, answer->status(), answer->headers())) {
    co_return co_await lost(exchange, std::move(target), TargetEnd::kRefused);
  }
  // Weak, so that a connection ends with its try. Called at once when it was cancelled meanwhile.
  exchange->cancel->on_cancel([weak = std::weak_ptr(answer)] {
    if (const Answer running = weak.lock()) running->cancel();
  });
  if (!is_stream(answer->headers())) {
    co_return co_await relay_whole(exchange, std::move(target), answer);
  }
  if (exchange->plan) co_return co_await relay_resumable(exchange, std::move(target), answer);
  co_return co_await relay_stream(exchange, std::move(target), answer);
}

net::Task<Forwarder::Turn> Forwarder::unopened(Exchange exchange, ForwardTarget target,
                                               Error error) {
  if (exchange->gone || exchange->recalled || expired_) {
    co_return co_await lost(exchange, std::move(target), TargetEnd::kRecalled);
  }
  if (error.code == Code::kUnavailable) {  // nobody took it
    close_try(*exchange, target, TargetEnd::kUnreachable);
    co_return Turn::kAgain;
  }
  // Another pod's door may answer anything; what it answers wrongly, somebody else is asked.
  if (error.code == Code::kDataLoss || exchange->has_begun() || !target.is_local) {
    co_return co_await lost(exchange, std::move(target), TargetEnd::kCut);
  }
  close_try(*exchange, target, TargetEnd::kSilent);
  log_warn("engine gave no answer", {{"target", target.name}, {"error", error.to_string()}});
  co_await refuse(exchange, 504, "the engine gave no answer in time");
  co_return Turn::kAnswered;
}

void Forwarder::close_try(ForwardExchange& exchange, const ForwardTarget& target, TargetEnd end) {
  exchange.note_try(target, end, clock_.now());
  chooser_.ended(target, end);
}

}  // namespace kantha::noded
