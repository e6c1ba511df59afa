#include "engine/serve/live_request.h"

#include <utility>

#include <boost/asio/post.hpp>

namespace kantha::serve {

LiveRequest::LiveRequest(boost::asio::any_io_executor executor, gateway::EnginePort& engine,
                         const Clock& clock, std::size_t events_max)
    : executor_(std::move(executor)),
      engine_(engine),
      clock_(clock),
      events_max_(events_max),
      notify_(std::make_unique<net::Notify>(executor_)) {}

/// Posts under the lock: after close() returns, no engine thread touches the executor, whose
/// context may be gone by the time the last event of an aborted request comes.
void LiveRequest::on_events(std::vector<sched::TokenEvent> events) {
  const TimePoint now = clock_.now();
  const std::lock_guard lock(mutex_);
  if (closed_ || overflowed_) return;
  queued_ += events.size();
  overflowed_ = queued_ > events_max_;
  batches_.push_back({now, std::move(events)});
  if (std::exchange(posted_, true)) return;
  boost::asio::post(executor_, [self = shared_from_this()] { self->deliver(); });
}

void LiveRequest::deliver() {
  bool overflowed = false;
  {
    const std::lock_guard lock(mutex_);
    posted_ = false;
    overflowed = overflowed_;
  }
  woken_ = true;
  if (notify_) notify_->notify();
  if (overflowed) stop(StopCause::kSlowReader);
}

std::vector<EventBatch> LiveRequest::take() {
  woken_ = false;
  const std::lock_guard lock(mutex_);
  queued_ = 0;
  return std::exchange(batches_, {});
}

net::Task<bool> LiveRequest::wait(Duration timeout) {
  if (woken_) co_return true;
  const bool woken = co_await notify_->wait(timeout);
  co_return woken;
}

void LiveRequest::stop(StopCause cause) {
  if (cause_ != StopCause::kNone) return;
  cause_ = cause;
  for (const RequestId id : ids_) engine_.abort(id);
  woken_ = true;
  if (notify_) notify_->notify();
  if (cause == StopCause::kSlowReader && on_slow_reader_) std::exchange(on_slow_reader_, {})();
}

void LiveRequest::close() {
  stop(StopCause::kFinished);
  on_slow_reader_ = {};
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    batches_.clear();
  }
  notify_.reset();
}

}  // namespace kantha::serve
