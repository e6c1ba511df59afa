#include "tests/sim/operator_run.h"

#include <utility>

namespace kantha::sim {

OperatorRun::OperatorRun(boost::asio::any_io_executor executor, const Clock& clock,
                         fake::FakeApiServer& server, cluster::PodDoor& door,
                         cluster::OperatorSettings settings, std::uint64_t seed)
    : transport_(server, "kantha-operator/sim"),
      operator_(std::move(executor), clock, transport_, door, metrics_, std::move(settings), seed) {
  transport_.on_crash([this] { kill(); });
}

net::Task<void> OperatorRun::live(std::shared_ptr<OperatorRun> run) {
  co_await run->operator_.run();
  run->has_ended_ = true;
}

void OperatorRun::start(const std::shared_ptr<OperatorRun>& run, net::TaskGroup& tasks) {
  tasks.spawn(live(run));
}

void OperatorRun::kill() {
  if (std::exchange(is_killed_, true)) return;
  transport_.close();
  operator_.stop();
}

}  // namespace kantha::sim
