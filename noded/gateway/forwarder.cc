#include "noded/gateway/forwarder.h"

#include <algorithm>
#include <utility>

#include "noded/gateway/door_error.h"
#include "noded/gateway/held_count.h"

namespace kantha::noded {
namespace {

constexpr Duration kWaitTurn = std::chrono::milliseconds(100);
/// Engines that one request may crash before it has got a token from another.
constexpr int kCrashesMax = 2;

}  // namespace

Forwarder::Forwarder(boost::asio::any_io_executor executor, EngineGate& gate,
                     net::HttpClient& client, ForwardPolicy policy, const Clock& clock)
    : own_chooser_(std::make_unique<LocalTarget>(gate)),
      chooser_(*own_chooser_),
      client_(client),
      policy_(policy),
      clock_(clock),
      changed_(executor),
      idle_since_(clock.now()) {}

Forwarder::Forwarder(boost::asio::any_io_executor executor, TargetChooser& chooser,
                     net::HttpClient& client, ForwardPolicy policy, const Clock& clock)
    : chooser_(chooser),
      client_(client),
      policy_(policy),
      clock_(clock),
      changed_(executor),
      idle_since_(clock.now()) {}

void Forwarder::set_holding(bool on) {
  holding_ = on;
  changed_.notify();
}

void Forwarder::recall() {
  for (const Exchange& exchange : live_) {
    if (exchange->outcome.target != kLocalTargetName || !exchange->can_continue()) continue;
    exchange->recalled = true;
    exchange->end_try();
  }
}

void Forwarder::recall_from(const std::string& target) {
  for (const Exchange& exchange : live_) {
    if (exchange->outcome.target != target) continue;
    if (exchange->has_begun() && !exchange->can_continue()) continue;
    exchange->recalled = true;
    exchange->end_try();
  }
}

void Forwarder::expire() {
  expired_ = true;
  for (const Exchange& exchange : live_) exchange->end_try();
  changed_.notify();
}

net::Task<bool> Forwarder::wait_until(std::function<bool()> condition, Duration timeout) {
  const TimePoint until = clock_.now() + timeout;
  while (!condition()) {
    const TimePoint now = clock_.now();
    if (now >= until) co_return false;
    co_await changed_.wait(std::min<Duration>(until - now, kWaitTurn));
  }
  co_return true;
}

net::Task<bool> Forwarder::wait_idle(Duration timeout) {
  std::function<bool()> is_idle = [this] { return dispatched() == 0; };
  co_return co_await wait_until(std::move(is_idle), timeout);
}

net::Task<bool> Forwarder::wait_done(Duration timeout) {
  std::function<bool()> is_done = [this] { return counts_.in_flight == 0; };
  co_return co_await wait_until(std::move(is_done), timeout);
}

/// Empty when the request is welcome.
std::string Forwarder::reason_to_refuse(const net::HttpRequest& request) const {
  if (draining_ && !chooser_.knows_others()) return "this pod is draining";
  const auto bytes = static_cast<std::int64_t>(request.body.size());
  if (counts_.kept_bytes + bytes <= policy_.kept_bytes_max) return {};
  return "the requests that are being answered hold " + std::to_string(counts_.kept_bytes) +
         " bytes, and this one would bring them above " + std::to_string(policy_.kept_bytes_max);
}

net::Task<ForwardOutcome> Forwarder::forward(net::HttpRequest request,
                                             net::ResponseWriter& writer) {
  counts_.total += 1;
  idle_since_ = clock_.now();
  request.headers = end_to_end(std::move(request.headers));
  request.headers.remove("Host");
  std::string refusal = reason_to_refuse(request);
  auto exchange = std::make_shared<ForwardExchange>(std::move(request), writer, clock_.now());
  if (!refusal.empty()) {
    co_await refuse(exchange, 503, std::move(refusal));
    co_return exchange->outcome;
  }
  const HeldCount in_flight(counts_.in_flight);
  const HeldCount kept(counts_.kept_bytes,
                       static_cast<std::int64_t>(exchange->request.body.size()));
  exchange->deadline = exchange->arrived + policy_.hold_timeout;
  writer.on_client_gone([weak = std::weak_ptr(exchange)] {
    const Exchange left = weak.lock();
    if (!left) return;
    left->gone = true;
    left->end_try();
  });
  live_.insert(exchange);
  co_await serve(exchange);
  live_.erase(exchange);
  idle_since_ = clock_.now();
  co_return std::move(exchange->outcome);
}

net::Task<void> Forwarder::serve(Exchange exchange) {
  while (!exchange->gone) {
    std::optional<ForwardTarget> target = co_await hold(exchange);
    if (!target) break;
    if (ends_engines(*exchange)) {
      co_await refuse(
          exchange, 502,
          std::to_string(kCrashesMax) + " engines ended while they worked on this request");
      break;
    }
    const bool is_local = target->is_local;
    const Turn turn = co_await attempt(exchange, *std::move(target));
    changed_.notify();
    if (turn == Turn::kAnswered) break;
    counts_.retried += 1;
    if (!exchange->has_begun()) exchange->outcome.retries += 1;
    if (is_local) co_await net::sleep_for(policy_.retry_pause);
  }
  ForwardOutcome& outcome = exchange->outcome;
  if (exchange->gone && outcome.ended_by == EndedBy::kDoor && outcome.error.empty()) {
    outcome.ended_by = EndedBy::kClient;
  }
  if (exchange->ledger && exchange->ledger->has_begun()) {
    outcome.prompt_tokens = exchange->ledger->prompt_tokens();
    outcome.completion_tokens = static_cast<std::int64_t>(exchange->tokens());
  }
  outcome.total = clock_.now() - exchange->arrived;
}

/// Whether it looks as if it was this request that ended the last engines. How the last one ended
/// is known a moment after its connection was cut, or never: then it is taken for a crash.
bool Forwarder::ends_engines(ForwardExchange& exchange) const {
  if (exchange.suspect) {
    const EngineEnds ends = chooser_.ends(*exchange.suspect);
    const bool is_unknown = ends.last == EngineEnds::Last::kUnknown;
    if (is_unknown || ends.count > exchange.ends_before) {
      exchange.suspect.reset();
      if (ends.last != EngineEnds::Last::kWasEnded) exchange.crashes += 1;
    }
  }
  return exchange.crashes >= kCrashesMax;
}

}  // namespace kantha::noded
