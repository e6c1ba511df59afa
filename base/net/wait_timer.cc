#include "base/net/wait_timer.h"

#include <algorithm>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include "base/net/virtual_timers.h"

namespace kantha::net {
namespace asio = boost::asio;

namespace {

/// Longer waits than this count as this, so that adding them to a time cannot overflow.
constexpr Duration kLongestWait = std::chrono::hours(24 * 365);

}  // namespace

WaitTimer::WaitTimer(const asio::any_io_executor& executor, Duration span) : timer_(executor) {
  const Duration bounded = std::clamp(span, Duration::zero(), kLongestWait);
  auto& context = asio::query(executor, asio::execution::context);
  if (asio::has_service<VirtualTimers>(context)) {
    virtual_timers_ = &asio::use_service<VirtualTimers>(context);
  }
  if (virtual_timers_ == nullptr || !virtual_timers_->is_active()) {
    virtual_timers_ = nullptr;
    timer_.expires_after(bounded);
    return;
  }
  timer_.expires_at(asio::steady_timer::time_point::max());
  virtual_id_ = virtual_timers_->add(bounded, timer_);
}

WaitTimer::~WaitTimer() {
  if (virtual_timers_ != nullptr) virtual_timers_->remove(virtual_id_);
}

Task<void> WaitTimer::wait() {
  boost::system::error_code ignored;
  co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void WaitTimer::cancel() { timer_.cancel(); }

}  // namespace kantha::net
