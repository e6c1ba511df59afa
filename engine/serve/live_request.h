#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/net/task.h"

#include "base/clock.h"
#include "base/net/task_group.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/token_event.h"
#include "engine/serve/event_queue.h"

/// A client's request while the engine works on it.
namespace kantha::serve {

/// Why a request ends before its time; the first cause stays.
enum class StopCause { kNone, kClientGone, kSlowReader, kDrainExpired, kFinished };

/// An event and when it left the engine.
struct TimedEvent {
  TimePoint at{};
  sched::TokenEvent event;
};

/// One session's end of the event queue: its events in order, one wake-up for all that have come,
/// and the way to stop the engine's side. The engine thread only passes it on (on_events, lose);
/// everything else is the I/O thread's, construction included. Shared by both; close() ends the
/// session's part.
class LiveRequest final : public sched::EventSink,
                          public std::enable_shared_from_this<LiveRequest> {
 public:
  /// More than `events_max` undelivered events mean a reader that is too slow: the request is
  /// stopped.
  LiveRequest(std::shared_ptr<EventQueue> queue, gateway::EnginePort& engine,
              std::size_t events_max);

  void on_events(std::vector<sched::TokenEvent> events) override;
  sched::EventHub* hub() override { return queue_.get(); }

  // The queue's side.
  void take_in(TimedEvent event);
  /// Some of its events found no place; any thread.
  void lose() { lost_.store(true, std::memory_order_relaxed); }
  void stop_if_lost();

  /// Remembers an id that the engine has accepted.
  void add_id(RequestId id) { ids_.push_back(id); }
  /// Forgets one that has ended; it is not aborted any more.
  void remove_id(RequestId id) { std::erase(ids_, id); }
  /// Called once when the request is stopped for a slow reader, whose write may be stuck.
  void on_slow_reader(std::function<void()> callback) { on_slow_reader_ = std::move(callback); }
  /// Gives what has arrived since the last call; what `events` held is gone, its storage is reused.
  void take(std::vector<TimedEvent>& events);
  /// True when woken by events or a stop; false when the timeout passed.
  net::Task<bool> wait(Duration timeout);
  /// Aborts every id at the engine and wakes the session. Later calls change nothing.
  void stop(StopCause cause);
  StopCause stop_cause() const { return cause_; }
  /// Nothing is delivered or called after this, and the executor is not used any more.
  void close();

 private:
  void wake();

  const std::shared_ptr<EventQueue> queue_;
  gateway::EnginePort& engine_;
  const std::size_t events_max_;
  std::atomic<bool> lost_ = false;

  // I/O thread only.
  std::unique_ptr<net::Notify> notify_;  ///< null once closed
  std::vector<TimedEvent> arrived_;
  std::vector<RequestId> ids_;
  std::function<void()> on_slow_reader_;
  StopCause cause_ = StopCause::kNone;
  bool woken_ = false;
};

}  // namespace kantha::serve
