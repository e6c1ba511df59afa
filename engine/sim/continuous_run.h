#pragma once

#include <vector>

#include "engine/sched/scheduler.h"
#include "engine/sim/arrival_line.h"
#include "engine/sim/front_door.h"
#include "engine/sim/simulation.h"

/// The turn of exec/engine_loop.h on virtual time:
///   take what has arrived → budget → schedule → the step's cost passes → commit → events.
namespace kantha::sim {

class ContinuousRun {
 public:
  ContinuousRun(const Workload& workload, const RunOptions& options);
  Result<Trace> run();

 private:
  void accept();
  void queue(std::int32_t index);
  Status step();
  void sample(const sched::StepPlan& plan);
  void take_events();
  void note_token(std::int32_t index);
  void note_usage(Duration cost);
  void end_request(std::int32_t index, Outcome outcome, TimePoint at);
  Trace finish();

  const Workload& workload_;
  const RunOptions& options_;
  cache::KvCache kv_;
  sched::Scheduler scheduler_;
  sched::StepBudget budget_;
  FrontDoor door_;
  ArrivalLine line_;
  TimePoint now_{};
  Trace trace_;
  std::vector<sched::SampledToken> sampled_;
  std::int64_t empty_turns_ = 0;  ///< in a row
};

}  // namespace kantha::sim
