#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include "base/net/task.h"

#include "bench/load/load_driver.h"
#include "bench/load/report.h"

/// One whole benchmark: probe, warm up, measure in rounds, look at the server beside. One executor.
namespace kantha::bench {

/// A line for the person who waits; called between phases.
using OnProgress = std::function<void(const std::string&)>;

class BenchRun {
 public:
  /// `options` are complete (complete_options).
  BenchRun(boost::asio::any_io_executor executor, BenchOptions options, OnProgress on_progress);

  /// Never fails: a server that cannot be measured is a part of the report. In a comparison the
  /// targets take turns, each round in another order, and each round sends all the same requests.
  net::Task<BenchReport> run();

  /// Ends sending, cuts off what is in flight; run() then gives what was measured.
  void stop();

 private:
  net::Task<void> prepare(TargetReport* target);
  net::Task<void> warm_up(TargetReport* target);
  net::Task<void> measure_round(TargetReport* target, ServerWatch* watch, int round);
  net::Task<void> sample_server(ServerDoor door, ServerWatch* watch);
  LoadPlan plan_of(int round) const;
  Sender sender_of(TargetReport* target) const;
  ServerDoor door_of(const Target& target) const;

  boost::asio::any_io_executor executor_;
  BenchOptions options_;
  OnProgress on_progress_;
  std::shared_ptr<net::HttpClient> client_;
  std::shared_ptr<net::CancelSignal> probe_cancel_ = std::make_shared<net::CancelSignal>();
  LoadDriver driver_;
  net::Notify phase_ended_;
  bool is_measuring_ = false;
};

}  // namespace kantha::bench
