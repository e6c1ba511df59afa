#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include "base/net/task.h"

#include "base/net/http_client.h"
#include "base/net/task_group.h"
#include "bench/load/request_log.h"

/// Sends requests by a plan and keeps what came of them. One executor.
namespace kantha::bench {

/// Exactly one of `concurrency` (closed loop) and `due` (open loop) is set.
struct LoadPlan {
  int concurrency = 0;             ///< so many are in flight all the time
  std::vector<Duration> due = {};  ///< rising; never waits for answers
  std::size_t requests = 0;        ///< closed loop; 0: no limit
  Duration length{};               ///< closed loop: none is begun after that; 0: no limit
  int in_flight_max = 1024;        ///< open loop: an arrival beyond is dropped and counted
  std::uint64_t first_index = 0;   ///< of the load's requests
};

/// Sends the index-th request; latencies are written by the caller of the phase's clock.
using Sender = std::function<net::Task<RequestLog>(std::uint64_t index, TimePoint origin,
                                                   std::shared_ptr<net::CancelSignal> cancel)>;

class LoadDriver {
 public:
  explicit LoadDriver(boost::asio::any_io_executor executor);

  /// One phase, from nothing in flight to nothing in flight. Ends when the plan is done and every
  /// answer is there (the sender gives each its deadline), or after stop(). A closed loop pauses
  /// 50 ms after a failure; when the first requests all fail (as many as are sent at a time, at
  /// least 20) the rest is not tried.
  net::Task<Phase> run(LoadPlan plan, Sender sender);

  /// No more requests, and those in flight are cancelled; later phases end at once.
  void stop();
  bool stopped() const { return is_stopped_; }
  int in_flight() const { return in_flight_; }

 private:
  net::Task<void> closed_worker();
  net::Task<void> open_loop();
  net::Task<void> watch_lag();
  net::Task<void> send_one(std::uint64_t index, Duration due);
  bool may_begin() const;
  void count_in_flight(int change);
  void judge(const RequestLog& log);
  Duration now() const;

  boost::asio::any_io_executor executor_;
  net::Notify wake_;
  std::set<std::shared_ptr<net::CancelSignal>> running_;
  LoadPlan plan_;
  Sender sender_;
  Phase phase_;
  TimePoint origin_{};
  Duration counted_until_{};
  std::uint64_t next_ = 0;  ///< requests begun in this phase
  int in_flight_ = 0;
  bool has_success_ = false;
  bool is_sending_ = false;
  bool is_stopped_ = false;
};

}  // namespace kantha::bench
