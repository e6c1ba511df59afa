#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "base/net/task.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/clock.h"
#include "engine/sched/token_event.h"

/// The one queue on the way from the engine thread to the I/O thread.
namespace kantha::serve {

class LiveRequest;

/// Takes each step's events as one batch under one time and rings a bell (an eventfd) that the I/O
/// thread waits on; the I/O thread gives every request its own. So a step costs the engine thread
/// one lock, one look at the clock and at most one system call, whatever the number of streams; it
/// never touches the executor. Storage goes round between the two sides: nothing is allocated.
///
/// Bounded: when the I/O thread falls behind by more than `events_max` events, the requests whose
/// events find no place are stopped as slow readers.
///
/// on_step is the engine thread's, the rest the I/O thread's. While no request has joined, events
/// are dropped and the executor is left alone, so that the queue may outlive it.
class EventQueue final : public sched::EventHub, public std::enable_shared_from_this<EventQueue> {
 public:
  static constexpr std::size_t kEventsMax = std::size_t{1} << 18;

  EventQueue(boost::asio::any_io_executor executor, const Clock& clock,
             std::size_t events_max = kEventsMax);
  ~EventQueue() override;

  /// Only events of LiveRequests that were made with this queue.
  void on_step(std::vector<sched::AddressedEvent>& events) override;

  /// From join to leave the queue delivers to a request.
  void join(LiveRequest& request);
  void leave(LiveRequest& request);
  const boost::asio::any_io_executor& executor() const { return executor_; }

 private:
  /// Events up to index `end` left the engine at that time.
  struct Step {
    TimePoint at{};
    std::size_t end = 0;
  };

  void wait_for_bell();
  void deliver();
  void hand_out();

  const boost::asio::any_io_executor executor_;
  const Clock& clock_;
  const std::size_t events_max_;
  const int bell_;

  std::mutex mutex_;  // guards the five below
  std::vector<sched::AddressedEvent> queued_;
  std::vector<Step> steps_;
  bool rung_ = false;
  bool lost_ = false;
  bool has_members_ = false;

  // I/O thread only.
  std::vector<sched::AddressedEvent> taken_;
  std::vector<Step> taken_steps_;
  std::unordered_set<LiveRequest*> members_;
  std::unique_ptr<boost::asio::posix::stream_descriptor> listener_;  ///< while there are members
  std::uint64_t wait_number_ = 0;
};

}  // namespace kantha::serve
