#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "engine/cache/kv_cache.h"
#include "engine/exec/batch_builder.h"
#include "engine/exec/engine_thread.h"
#include "engine/exec/forward.h"
#include "engine/exec/lap_timer.h"
#include "engine/exec/state_pool.h"
#include "engine/exec/step_sampler.h"
#include "engine/gateway/inbox.h"
#include "engine/gateway/outbox.h"
#include "engine/sched/scheduler.h"
#include "engine/sched/step_budget.h"

/// What the engine thread does, without the thread.
namespace kantha::exec {

/// The limits that follow from the options; what the door checks requests against.
gateway::EngineLimits limits_of(const EngineOptions& options, std::int32_t vocabulary_size,
                                std::int32_t hidden_size = 0);

/// Where the time of one turn went; without the wait for input. Everything but `forward` is the
/// engine thread's own cost.
struct TurnTimes {
  Duration accept{};    ///< requests and aborts into the scheduler
  Duration schedule{};  ///< the step's plan
  Duration build{};     ///< the batch's arrays
  Duration forward{};   ///< block copies and the forward pass
  Duration sample{};
  Duration commit{};
  Duration report{};  ///< numbers published, events sent

  Duration own() const { return accept + schedule + build + sample + commit + report; }
};

/// Owns sched, cache and exec; takes from the inbox, sends to sinks. All methods on one thread.
///
///   turn = receive → abort, add → schedule → copy blocks → build → forward → sample → commit
///          → publish numbers → send events
///
/// Numbers are published before events are sent: whoever sees a request's last event reads stats
/// that no longer count it.
class EngineLoop {
 public:
  /// CHECKs options against the forward (rows, logit rows). The inbox outlives the loop.
  EngineLoop(std::unique_ptr<Forward> forward, EngineOptions options, const Clock& clock,
             gateway::Inbox& inbox);

  /// Before the first turn: a small prefill and a decode on a scratch sequence, twice, so that what
  /// a first step touches has been touched and the step budget has a first idea of this machine.
  /// Leaves nothing in counters, cache and pool.
  void warm_up();
  /// Does one turn; waits up to `patience` for input when there is nothing to compute. False when
  /// the inbox is closed: every request has been ended with kAbort.
  bool turn(Duration patience);
  /// No request is open here (the inbox may hold some).
  bool idle() const { return scheduler_.empty(); }
  const sched::Scheduler& scheduler() const { return scheduler_; }
  const cache::KvCache& kv() const { return kv_; }
  /// Of the last turn.
  const TurnTimes& times() const { return times_; }

 private:
  void accept(gateway::Inbox::Delivery delivery);
  void step(LapTimer& timer);
  LogitRows run(const sched::StepPlan& plan, const Batch& batch);
  void report();
  gateway::EngineStats stats() const;

  EngineOptions options_;
  const Clock& clock_;
  gateway::Inbox& inbox_;
  std::unique_ptr<Forward> forward_;
  cache::KvCache kv_;
  sched::Scheduler scheduler_;
  BatchBuilder builder_;
  sched::StepBudget budget_;
  gateway::Outbox outbox_;
  std::unique_ptr<float[]> logits_;  ///< [logit rows, vocabulary]
  std::unique_ptr<float[]> maxima_;  ///< [logit rows, logit_blocks(vocabulary)]
  std::unique_ptr<float[]> sums_;    ///< [logit rows, logit_blocks(vocabulary)]
  StepSampler sampler_;
  StatePool pool_;
  std::vector<sched::SampledToken> sampled_;
  std::vector<sched::AddressedEvent> events_;
  std::vector<RequestId> finished_;
  std::int32_t step_tokens_ = 0;  ///< budget of the last step
  TurnTimes times_;
  std::int64_t steps_ = 0;
  gateway::StepSizes step_sizes_;
  Duration step_total_{};  ///< of turns with a step
  Duration forward_total_{};
  TimePoint last_step_{};
};

}  // namespace kantha::exec
