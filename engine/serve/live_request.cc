#include "engine/serve/live_request.h"

#include <utility>

namespace kantha::serve {

LiveRequest::LiveRequest(std::shared_ptr<EventQueue> queue, gateway::EnginePort& engine,
                         std::size_t events_max)
    : queue_(std::move(queue)),
      engine_(engine),
      events_max_(events_max),
      notify_(std::make_unique<net::Notify>(queue_->executor())) {
  queue_->join(*this);
}

void LiveRequest::on_events(std::vector<sched::TokenEvent> events) {
  std::vector<sched::AddressedEvent> addressed;
  addressed.reserve(events.size());
  for (sched::TokenEvent& event : events) {
    addressed.push_back({shared_from_this(), std::move(event)});
  }
  queue_->on_step(addressed);
}

void LiveRequest::take_in(TimedEvent event) {
  // After a gap nothing fits on any more.
  if (notify_ == nullptr || lost_.load(std::memory_order_relaxed)) return;
  if (arrived_.size() >= events_max_) return stop(StopCause::kSlowReader);
  arrived_.push_back(std::move(event));
  wake();
}

void LiveRequest::stop_if_lost() {
  if (lost_.load(std::memory_order_relaxed)) stop(StopCause::kSlowReader);
}

void LiveRequest::wake() {
  if (std::exchange(woken_, true)) return;
  if (notify_) notify_->notify();
}

void LiveRequest::take(std::vector<TimedEvent>& events) {
  woken_ = false;
  events.clear();
  events.swap(arrived_);
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
  wake();
  if (cause == StopCause::kSlowReader && on_slow_reader_) std::exchange(on_slow_reader_, {})();
}

void LiveRequest::close() {
  if (notify_ == nullptr) return;
  stop(StopCause::kFinished);
  on_slow_reader_ = {};
  arrived_.clear();
  notify_.reset();
  queue_->leave(*this);
}

}  // namespace kantha::serve
