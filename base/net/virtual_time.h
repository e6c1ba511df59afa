#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/net/task.h"

/// Virtual time for coroutines: the simulator runs the real code, and an hour takes a moment.
///
/// While one exists for an io_context, sleep_for and Notify::wait on its executors wait for its
/// time, which moves only in run_until: everything that can run runs, then the clock jumps to the
/// next deadline. Equal deadlines fire in the order in which they were set, so that a run is a
/// pure function of its inputs. Sockets and threads stay in real time: nothing simulated may use
/// them. One thread; must outlive every waiter of the context.
namespace kantha::net {

class VirtualTime {
 public:
  VirtualTime(boost::asio::io_context& context, FakeClock& clock);
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  /// Runs what is ready and moves the clock until `end`, or until nothing waits for time any more.
  /// The clock stands at `end` afterwards.
  void run_until(TimePoint end);
  /// The same for a span from now.
  void run_for(Duration span);
  /// Runs what is ready now; the clock stands still.
  void run_ready();
  /// The earliest deadline that somebody waits for.
  std::optional<TimePoint> next_deadline() const;

 private:
  boost::asio::io_context& context_;
  FakeClock& clock_;
};

}  // namespace kantha::net
