#include "noded/engine/external_engine.h"

#include <utility>

#include "base/log.h"

namespace kantha::noded {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(50);
constexpr Duration kReadyProbeEvery = std::chrono::milliseconds(500);

}  // namespace

ExternalEngine::ExternalEngine(boost::asio::any_io_executor executor, std::string socket_path,
                               WatchPolicy policy, const Clock& clock, net::HttpClient& client)
    : EngineKeeper(executor, std::move(socket_path), clock, client), policy_(policy) {}

net::Task<void> ExternalEngine::run() {
  while (!stopping_) {
    WatchInput input = co_await observe();
    step(std::move(input));
    co_await net::sleep_for(kTick);
  }
  const EnginePhase before = state_.phase;
  stopped_ = true;
  announce(before);
}

void ExternalEngine::request_restart() {
  end_wanted_ = true;
  expect({});
}

void ExternalEngine::take_up_config(std::string hash) { expect({.config_hash = std::move(hash)}); }

EngineEnds ExternalEngine::ends() const {
  using enum EngineEnds::Last;
  const bool crashed = state_.last_end == "crashed";
  // "none" is said by the first engine of a container: the one before ended with its container.
  const bool was_ended = state_.last_end == "was_ended" || state_.last_end == "none";
  return {.count = state_.restarts, .last = crashed ? kCrashed : was_ended ? kWasEnded : kUnknown};
}

void ExternalEngine::expect(WatchChange change) {
  change.asked = clock_.now();
  probe_due_ = {};
  step({.now = change.asked, .change = std::move(change)});
}

void ExternalEngine::step(WatchInput input) {
  const EnginePhase before = state_.phase;
  const std::int64_t pid = state_.pid;
  const std::int64_t restarts = state_.restarts;
  input.now = clock_.now();
  input.where = endpoint().to_string();
  state_ = watch_step(std::move(state_), input, policy_);
  if (state_.pid != pid || state_.restarts != restarts) {
    log_info(
        "engine found",
        {{"pid", state_.pid}, {"restarts", state_.restarts}, {"config_hash", state_.config_hash}});
  }
  announce(before);
}

net::Task<WatchInput> ExternalEngine::observe() {
  WatchInput input;
  if (std::exchange(end_wanted_, false)) {
    const Status asked = co_await probe_.ask_to_end();
    if (!asked.ok()) {
      log_warn("engine could not be asked to end", {{"error", asked.error().to_string()}});
    }
  }
  if (clock_.now() < probe_due_) co_return input;
  // Changes are asked for from outside while we wait; answers from before are worth nothing then.
  const std::optional<TimePoint> asked =
      state_.change ? std::optional(state_.change->asked) : std::nullopt;
  const ProbeAnswer answer = co_await probe_.ready();
  if (answer == ProbeAnswer::kReady && !state_.change) {
    probe_due_ = clock_.now() + kReadyProbeEvery;
  }
  if (answer == ProbeAnswer::kNone) reports_.forget();
  const bool wanted = state_.change || state_.phase != EnginePhase::kReady;
  if (answer != ProbeAnswer::kNone && co_await refresh_report(wanted)) {
    input.report = reports_.last();
  }
  const bool changed = state_.change && (!asked || *asked != state_.change->asked);
  if (!changed) input.probe = answer;
  co_return input;
}

}  // namespace kantha::noded
