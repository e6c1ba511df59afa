#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/net/task.h"

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/token_event.h"

/// A client's request while the engine works on it.
namespace kantha::serve {

/// Why a request ends before its time; the first cause stays.
enum class StopCause { kNone, kClientGone, kSlowReader, kDrainExpired, kFinished };

/// Events of one step and when they left the engine.
struct EventBatch {
  TimePoint at{};
  std::vector<sched::TokenEvent> events;
};

/// The meeting point of the engine thread and one session: a bounded queue in, one wake-up per
/// step, and the way to stop the engine's side. on_events belongs to the engine thread, everything
/// else to the I/O thread. Shared by both; close() on the I/O thread ends the session's part.
class LiveRequest final : public sched::EventSink,
                          public std::enable_shared_from_this<LiveRequest> {
 public:
  /// More than `events_max` undelivered events mean a reader that is too slow: the request is
  /// stopped.
  LiveRequest(boost::asio::any_io_executor executor, gateway::EnginePort& engine,
              const Clock& clock, std::size_t events_max);

  void on_events(std::vector<sched::TokenEvent> events) override;

  /// Remembers an id that the engine has accepted.
  void add_id(RequestId id) { ids_.push_back(id); }
  /// Forgets one that has ended; it is not aborted any more.
  void remove_id(RequestId id) { std::erase(ids_, id); }
  /// Called once when the request is stopped for a slow reader, whose write may be stuck.
  void on_slow_reader(std::function<void()> callback) { on_slow_reader_ = std::move(callback); }
  /// What has arrived since the last call.
  std::vector<EventBatch> take();
  /// True when woken by events or a stop; false when the timeout passed.
  net::Task<bool> wait(Duration timeout);
  /// Aborts every id at the engine and wakes the session. Later calls change nothing.
  void stop(StopCause cause);
  StopCause stop_cause() const { return cause_; }
  /// Nothing is delivered or called after this, and the executor is not used any more.
  void close();

 private:
  void deliver();

  const boost::asio::any_io_executor executor_;
  gateway::EnginePort& engine_;
  const Clock& clock_;
  const std::size_t events_max_;

  std::mutex mutex_;  // guards the five below
  std::vector<EventBatch> batches_;
  std::size_t queued_ = 0;
  bool posted_ = false;
  bool overflowed_ = false;
  bool closed_ = false;

  // I/O thread only.
  std::unique_ptr<net::Notify> notify_;
  std::vector<RequestId> ids_;
  std::function<void()> on_slow_reader_;
  StopCause cause_ = StopCause::kNone;
  bool woken_ = false;
};

}  // namespace kantha::serve
