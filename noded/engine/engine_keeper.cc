#include "noded/engine/engine_keeper.h"

#include "base/log.h"

namespace kantha::noded {
namespace {

constexpr Duration kFreshFor = std::chrono::milliseconds(100);
constexpr Duration kFreshenTimeout = std::chrono::milliseconds(250);

}  // namespace

EngineKeeper::EngineKeeper(boost::asio::any_io_executor executor, std::string socket_path,
                           const Clock& clock, net::HttpClient& client)
    : executor_(executor),
      clock_(clock),
      probe_(client, net::Endpoint{.unix_path = std::move(socket_path)}),
      changed_(executor) {}

net::Task<bool> EngineKeeper::wait_ready(Duration timeout) {
  const TimePoint until = clock_.now() + timeout;
  while (!ready()) {
    const TimePoint now = clock_.now();
    if (now >= until || given_up()) co_return false;
    co_await changed_.wait(until - now);
  }
  co_return true;
}

void EngineKeeper::announce(EnginePhase before) {
  if (phase() == before) return;
  if (ready()) {
    ++times_ready_;
    if (!first_ready_) first_ready_ = clock_.now();
  }
  log_info("engine phase", {{"from", engine_phase_name(before)},
                            {"to", engine_phase_name(phase())},
                            {"message", message()}});
  changed_.notify();
}

net::Task<bool> EngineKeeper::refresh_report(bool now) {
  const TimePoint asked = clock_.now();
  if (!now && !reports_.due(asked)) co_return false;
  Result<EngineReport> fresh = co_await probe_.report();
  if (!fresh.ok()) co_return false;
  reports_.note(std::move(fresh).value(), asked);
  co_return true;
}

net::Task<void> EngineKeeper::freshen_reports() {
  const TimePoint asked = clock_.now();
  const std::optional<TimePoint> taken = reports_.taken();
  if (!ready() || !taken || asked - *taken < kFreshFor) co_return;
  Result<EngineReport> fresh = co_await probe_.report(kFreshenTimeout);
  if (fresh.ok()) reports_.freshen(std::move(fresh).value(), asked);
}

}  // namespace kantha::noded
