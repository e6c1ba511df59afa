#include "base/net/virtual_time.h"

#include <algorithm>

#include "base/check.h"
#include "base/net/virtual_timers.h"

namespace kantha::net {
namespace asio = boost::asio;

asio::execution_context::id VirtualTimers::id;

std::uint64_t VirtualTimers::add(Duration span, asio::steady_timer& timer) {
  const std::uint64_t timer_id = ++last_id_;
  const TimePoint deadline = clock_->now() + span;
  due_.emplace(std::pair(deadline, timer_id), &timer);
  deadlines_.emplace(timer_id, deadline);
  return timer_id;
}

void VirtualTimers::remove(std::uint64_t timer_id) {
  const auto found = deadlines_.find(timer_id);
  if (found == deadlines_.end()) return;
  due_.erase({found->second, timer_id});
  deadlines_.erase(found);
}

std::optional<TimePoint> VirtualTimers::next_deadline() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

void VirtualTimers::fire(TimePoint now) {
  while (!due_.empty() && due_.begin()->first.first <= now) {
    const auto [key, timer] = *due_.begin();
    due_.erase(due_.begin());
    deadlines_.erase(key.second);
    timer->cancel();
  }
}

VirtualTime::VirtualTime(asio::io_context& context, FakeClock& clock)
    : context_(context), clock_(clock) {
  auto& timers = asio::use_service<VirtualTimers>(context_);
  CHECK(!timers.is_active(), "a context has one virtual time");
  timers.set_clock(&clock_);
}

VirtualTime::~VirtualTime() { asio::use_service<VirtualTimers>(context_).set_clock(nullptr); }

std::optional<TimePoint> VirtualTime::next_deadline() const {
  return asio::use_service<VirtualTimers>(context_).next_deadline();
}

void VirtualTime::run_ready() {
  context_.restart();
  while (context_.poll() > 0) context_.restart();
}

void VirtualTime::run_until(TimePoint end) {
  auto& timers = asio::use_service<VirtualTimers>(context_);
  run_ready();
  while (true) {
    const auto deadline = timers.next_deadline();
    if (!deadline || *deadline > end) break;
    clock_.advance(std::max(*deadline - clock_.now(), Duration::zero()));
    timers.fire(clock_.now());
    run_ready();
  }
  clock_.advance(std::max(end - clock_.now(), Duration::zero()));
}

void VirtualTime::run_for(Duration span) { run_until(clock_.now() + span); }

}  // namespace kantha::net
