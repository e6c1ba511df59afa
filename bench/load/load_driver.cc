#include "bench/load/load_driver.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

namespace kantha::bench {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPauseAfterFailure = 50ms;
constexpr Duration kLagProbe = 10ms;
constexpr std::size_t kLagSamplesMax = 1'000'000;
constexpr std::size_t kHopelessAfter = 20;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

LoadDriver::LoadDriver(boost::asio::any_io_executor executor)
    : executor_(executor), wake_(std::move(executor)) {}

Duration LoadDriver::now() const { return system_clock().now() - origin_; }

net::Task<Phase> LoadDriver::run(LoadPlan plan, Sender sender) {
  CHECK((plan.concurrency > 0) != !plan.due.empty(), "a load is closed or open");
  plan_ = std::move(plan);
  sender_ = std::move(sender);
  phase_ = {};
  phase_.was_open_loop = plan_.concurrency == 0;
  next_ = 0;
  has_success_ = false;
  is_sending_ = true;
  counted_until_ = {};
  const double cpu_before = cpu_seconds();
  origin_ = system_clock().now();
  net::TaskGroup probe(executor_, "bench lag");
  net::TaskGroup loads(executor_, "bench load");
  probe.spawn(watch_lag());
  if (phase_.was_open_loop) {
    co_await open_loop();
  } else {
    for (int i = 0; i < plan_.concurrency; ++i) loads.spawn(closed_worker());
    co_await loads.join();
  }
  is_sending_ = false;
  co_await probe.join();
  phase_.client_cpu_s = cpu_seconds() - cpu_before;
  phase_.was_interrupted = is_stopped_;
  for (const RequestLog& request : phase_.requests) {
    phase_.length = std::max(phase_.length, request.ended);
  }
  co_return std::move(phase_);
}

void LoadDriver::stop() {
  is_stopped_ = true;
  wake_.notify();
  const auto running = running_;
  for (const auto& cancel : running) cancel->cancel();
}

bool LoadDriver::may_begin() const {
  if (is_stopped_ || phase_.was_hopeless) return false;
  if (plan_.requests > 0 && next_ >= plan_.requests) return false;
  return plan_.length == Duration::zero() || now() < plan_.length;
}

net::Task<void> LoadDriver::closed_worker() {
  while (may_begin()) {
    const std::uint64_t index = plan_.first_index + next_++;
    const std::size_t failed_before = phase_.requests.size();
    count_in_flight(+1);
    co_await send_one(index, now());
    const bool has_failed =
        phase_.requests.size() > failed_before && phase_.requests.back().failed();
    if (has_failed && may_begin()) co_await wake_.wait(kPauseAfterFailure);
  }
}

net::Task<void> LoadDriver::open_loop() {
  net::TaskGroup sends(executor_, "bench requests");
  for (const Duration due : plan_.due) {
    for (Duration left = due - now(); left > Duration::zero() && may_begin(); left = due - now()) {
      co_await wake_.wait(left);
    }
    if (!may_begin()) break;
    const std::uint64_t index = plan_.first_index + next_++;
    if (in_flight_ >= plan_.in_flight_max) {
      ++phase_.dropped;
    } else {
      count_in_flight(+1);  // here, since arrivals that are late come before it begins
      sends.spawn(send_one(index, due));
    }
  }
  co_await sends.join();
}

net::Task<void> LoadDriver::send_one(std::uint64_t index, Duration due) {
  const auto cancel = std::make_shared<net::CancelSignal>();
  running_.insert(cancel);
  RequestLog log = co_await sender_(index, origin_, cancel);
  running_.erase(cancel);
  log.index = index;
  log.due = due;
  judge(log);
  phase_.requests.push_back(std::move(log));
  count_in_flight(-1);
}

void LoadDriver::count_in_flight(int change) {
  const Duration at = now();
  phase_.in_flight_s += in_flight_ * std::chrono::duration<double>(at - counted_until_).count();
  counted_until_ = at;
  in_flight_ += change;
  phase_.in_flight_peak = std::max(phase_.in_flight_peak, in_flight_);
}

void LoadDriver::judge(const RequestLog& log) {
  has_success_ |= log.ok();
  const std::size_t ended = phase_.requests.size() + 1;
  const std::size_t patience = std::max<std::size_t>(kHopelessAfter, plan_.concurrency);
  if (has_success_ || ended < patience || is_stopped_) return;
  if (!phase_.was_hopeless) wake_.notify();
  phase_.was_hopeless = may_begin();
}

net::Task<void> LoadDriver::watch_lag() {
  while (is_sending_) {
    const TimePoint before = system_clock().now();
    co_await net::sleep_for(kLagProbe);
    const Duration late = system_clock().now() - before - kLagProbe;
    if (phase_.lag_ms.size() < kLagSamplesMax) {
      phase_.lag_ms.push_back(std::chrono::duration<double, std::milli>(late).count());
    }
  }
}

}  // namespace kantha::bench
