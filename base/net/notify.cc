#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include "base/net/task_group.h"
#include "base/net/wait_timer.h"

namespace kantha::net {
namespace asio = boost::asio;

namespace {

struct Waiter {
  Waiter(const asio::any_io_executor& executor, Duration timeout) : timer(executor, timeout) {}
  WaitTimer timer;
  bool is_notified = false;
};

}  // namespace

struct Notify::Body {
  /// A coroutine, so that its frame keeps the state alive while it waits.
  static Task<bool> wait(std::shared_ptr<Body> self, Duration timeout);

  asio::any_io_executor executor;
  std::vector<std::shared_ptr<Waiter>> waiters = {};
};

Task<bool> Notify::Body::wait(std::shared_ptr<Body> self, Duration timeout) {
  const auto waiter = std::make_shared<Waiter>(self->executor, timeout);
  self->waiters.push_back(waiter);
  co_await waiter->timer.wait();
  // The flag decides, not the error: a timer that has fired can no longer be cancelled, yet the
  // notification that came before we ran must count.
  std::erase(self->waiters, waiter);
  co_return waiter->is_notified;
}

Notify::Notify(asio::any_io_executor executor)
    : body_(std::make_shared<Body>(std::move(executor))) {}

Notify::~Notify() {
  for (const auto& waiter : body_->waiters) waiter->timer.cancel();
}

void Notify::notify() {
  const auto waiters = std::exchange(body_->waiters, {});
  for (const auto& waiter : waiters) {
    waiter->is_notified = true;
    waiter->timer.cancel();
  }
}

Task<bool> Notify::wait(Duration timeout) { return Body::wait(body_, timeout); }

Task<void> sleep_for(Duration duration) {
  WaitTimer timer(co_await asio::this_coro::executor, duration);
  co_await timer.wait();
}

}  // namespace kantha::net
