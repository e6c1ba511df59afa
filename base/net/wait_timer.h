#pragma once

#include <cstdint>

#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "base/net/task.h"

/// The timer under sleep_for and Notify: real time, or virtual time where the context has it
/// (virtual_time.h). One executor.
namespace kantha::net {

class VirtualTimers;

/// Set once, waited for once.
class WaitTimer {
 public:
  /// Runs from now; spans below zero count as zero, and endless ones as a year.
  WaitTimer(const boost::asio::any_io_executor& executor, Duration span);
  ~WaitTimer();
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

  /// Returns when the span is over or cancel() was called; which of the two is the caller's to
  /// know.
  Task<void> wait();
  void cancel();

 private:
  boost::asio::steady_timer timer_;
  VirtualTimers* virtual_timers_ = nullptr;
  std::uint64_t virtual_id_ = 0;
};

}  // namespace kantha::net
