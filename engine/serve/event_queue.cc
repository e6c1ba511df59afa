#include "engine/serve/event_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "base/check.h"
#include "engine/serve/live_request.h"

namespace kantha::serve {
namespace {

/// Its own, as far as the hub of a sink says.
LiveRequest& request_of(const sched::AddressedEvent& event) {
  return static_cast<LiveRequest&>(*event.sink);
}

}  // namespace

EventQueue::EventQueue(boost::asio::any_io_executor executor, const Clock& clock,
                       std::size_t events_max)
    : executor_(std::move(executor)),
      clock_(clock),
      events_max_(events_max),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  CHECK(bell_ >= 0, "the process may open an eventfd when it starts");
}

EventQueue::~EventQueue() {
  if (listener_) listener_->release();
  ::close(bell_);
}

void EventQueue::on_step(std::vector<sched::AddressedEvent>& events) {
  // The last request may go while its events are on their way.
  const std::shared_ptr<EventQueue> self = shared_from_this();
  const TimePoint now = clock_.now();
  bool rings = false;
  {
    const std::lock_guard lock(mutex_);
    if (!has_members_) {
      // Nobody is there any more.
    } else if (queued_.size() + events.size() > events_max_) {
      lost_ = true;
      for (const sched::AddressedEvent& event : events) request_of(event).lose();
    } else {
      if (queued_.empty()) {
        queued_.swap(events);
      } else {
        queued_.insert(queued_.end(), std::move_iterator(events.begin()),
                       std::move_iterator(events.end()));
      }
      steps_.push_back({now, queued_.size()});
    }
    rings = has_members_ && !std::exchange(rung_, true);
  }
  events.clear();
  const std::uint64_t one = 1;
  // Cannot fail: the counter is read before it could ever be full.
  if (rings) CHECK(::write(bell_, &one, sizeof one) == sizeof one, "the bell rings");
}

void EventQueue::join(LiveRequest& request) {
  members_.insert(&request);
  if (listener_) return;
  {
    const std::lock_guard lock(mutex_);
    has_members_ = true;
  }
  listener_ = std::make_unique<boost::asio::posix::stream_descriptor>(executor_, bell_);
  wait_for_bell();
}

void EventQueue::leave(LiveRequest& request) {
  if (members_.erase(&request) == 0 || !members_.empty()) return;
  ++wait_number_;
  listener_->release();  // cancels the wait; the bell stays open
  listener_.reset();
  std::vector<sched::AddressedEvent> dropped;
  const std::lock_guard lock(mutex_);
  has_members_ = false;
  rung_ = false;
  lost_ = false;
  dropped.swap(queued_);
  steps_.clear();
}

void EventQueue::wait_for_bell() {
  listener_->async_wait(
      boost::asio::posix::descriptor_base::wait_read,
      [self = shared_from_this(), number = ++wait_number_](const boost::system::error_code& error) {
        if (!error && number == self->wait_number_) self->deliver();
      });
}

void EventQueue::deliver() {
  std::uint64_t rings = 0;
  static_cast<void>(::read(bell_, &rings, sizeof rings));
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(queued_);
    taken_steps_.swap(steps_);
    rung_ = false;
    lost = std::exchange(lost_, false);
  }
  hand_out();
  if (lost) {
    // A copy: whoever is stopped may leave.
    const std::vector<LiveRequest*> members(members_.begin(), members_.end());
    for (LiveRequest* member : members) {
      if (members_.contains(member)) member->stop_if_lost();
    }
  }
  if (listener_) wait_for_bell();
}

void EventQueue::hand_out() {
  std::size_t next = 0;
  for (const Step& step : taken_steps_) {
    for (; next < step.end; ++next) {
      request_of(taken_[next]).take_in({step.at, std::move(taken_[next].event)});
    }
  }
  taken_.clear();
  taken_steps_.clear();
}

}  // namespace kantha::serve
