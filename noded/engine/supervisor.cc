#include "noded/engine/supervisor.h"

#include <unistd.h>

#include "base/digest.h"
#include "base/log.h"

namespace kantha::noded {
namespace {

constexpr Duration kReadyProbeEvery = std::chrono::milliseconds(500);

}  // namespace

Supervisor::Supervisor(boost::asio::any_io_executor executor, EngineLaunch launch,
                       SupervisePolicy policy, const Clock& clock, net::HttpClient& client)
    : EngineKeeper(executor, launch.socket_path, clock, client),
      launch_(std::move(launch)),
      policy_(policy) {}

void Supervisor::hurry() {
  if (process_) process_->signal(SIGKILL);
}

net::Task<void> Supervisor::run() {
  while (true) {
    SuperviseInput input = co_await observe();
    const EnginePhase before = state_.phase;
    SuperviseOutput out = supervise_step(std::move(state_), input, policy_);
    state_ = std::move(out.state);
    for (const SuperviseAction action : out.actions) act(action);
    announce(before);
    if (state_.phase == EnginePhase::kStopped && !state_.wanted) co_return;
    if (ready()) co_await refresh_report();
    co_await net::sleep_for(kSuperviseTick);
  }
}

net::Task<SuperviseInput> Supervisor::observe() {
  SuperviseInput input;
  input.stop_requested = std::exchange(stop_requested_, false);
  input.restart_requested = std::exchange(restart_requested_, false);
  input.start_failed = std::exchange(start_error_, std::nullopt);
  if (process_) input.ended = process_->poll();
  if (input.ended) {
    note_end(*input.ended);
  } else if (process_ && clock_.now() >= probe_due_) {
    input.probe = co_await probe_.ready();
    // While it loads, look at every tick: the first token should not wait for our next turn.
    if (*input.probe == ProbeAnswer::kReady) probe_due_ = clock_.now() + kReadyProbeEvery;
    // It may have ended while we were asking.
    input.ended = process_->poll();
    if (input.ended) note_end(*input.ended);
  }
  input.now = clock_.now();
  co_return input;
}

/// Others end an engine with SIGTERM or SIGKILL, or ask it to end, which is status 0.
void Supervisor::note_end(const ProcessExit& end) {
  const bool from_outside = end.signal == SIGKILL || end.signal == SIGTERM;
  const bool in_order = end.signal == 0 && end.code == 0;
  const bool crashed = killed_by_us_ || !(from_outside || in_order);
  ends_.count += 1;
  ends_.last = crashed ? EngineEnds::Last::kCrashed : EngineEnds::Last::kWasEnded;
  process_.reset();
}

void Supervisor::act(SuperviseAction action) {
  switch (action) {
    case SuperviseAction::kStart: return start();
    case SuperviseAction::kTerminate:
      if (process_) process_->signal(SIGTERM);
      return;
    case SuperviseAction::kKill:
      killed_by_us_ = true;
      if (process_) process_->signal(SIGKILL);
      return;
  }
}

void Supervisor::start() {
  CHECK(!process_.has_value(), "an engine runs already");
  reports_.forget();
  probe_due_ = {};
  killed_by_us_ = false;
  const Result<std::string> hash = sha256_hex_of_file(launch_.config_path);
  config_hash_ = hash.ok() ? *hash : "";
  // A socket file left by a killed engine would make the probe talk to nobody.
  unlink(launch_.socket_path.c_str());
  ProcessSpec spec;
  spec.binary = launch_.binary;
  spec.args = {"--config", launch_.config_path, "--listen", "unix:" + launch_.socket_path};
  spec.log_path = launch_.log_path;
  spec.cpus = launch_.cpus;
  Result<Process> process = Process::spawn(spec);
  if (!process.ok()) {
    log_error("engine could not be started", {{"error", process.error().to_string()}});
    start_error_ = process.error().message;
    return;
  }
  process_ = std::move(process).value();
  log_info("engine started", {{"pid", process_->pid()}, {"config_hash", config_hash_}});
}

}  // namespace kantha::noded
