#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/sched/schedule_step.h"
#include "engine/sched/sequence.h"
#include "engine/sched/step_budget.h"

/// Decides which tokens the next step computes, and what the results mean.
namespace kantha::sched {

struct SchedulerOptions {
  std::int32_t context_max = 0;          ///< tokens of prompt + output
  std::int32_t sequences_max = 0;        ///< running at once
  std::int32_t step_tokens_max = 0;      ///< that fit into one step
  std::vector<TokenId> end_tokens = {};  ///< of the model
};

/// `tokens` further for one sequence, from its computed count on.
struct Grant {
  Sequence* sequence = nullptr;
  std::int32_t tokens = 0;
  /// The grant reaches the end of what is known: its last row's logits give the next token.
  bool samples() const { return sequence->computed + tokens == sequence->wanted(); }
};

/// One step: the copies come first, in order, then the grants as one batch.
struct StepPlan {
  std::vector<Grant> grants;
  std::vector<cache::BlockCopy> copies;
  StepShape shape;
};

/// Only rise; meanings as in gateway::EngineStats.
struct SchedulerCounters {
  std::int64_t prompt_tokens = 0;
  std::int64_t generation_tokens = 0;
  std::int64_t prefix_queries = 0;
  std::int64_t prefix_hits = 0;
  std::int64_t preemptions = 0;
  std::int64_t recomputed_tokens = 0;
  std::int64_t finished[kFinishReasonCount] = {};  ///< by FinishReason
};

/// An event and where it goes.
struct AddressedEvent {
  std::shared_ptr<EventSink> sink;
  TokenEvent event;
};

/// Owns the sequences; the cache is given and outlives it. Everything runs on the engine thread:
///   add, abort … → schedule → (device) → commit → take_events.
/// Split by phase: admit.cc, scheduler.cc with schedule_step.cc, preempt.cc, commit.cc.
class Scheduler {
 public:
  Scheduler(SchedulerOptions options, cache::KvCache& kv);

  /// Puts a checked request (gateway/admission.h) at the end of the waiting line. One whose resumed
  /// tokens are already complete ends at once.
  void add(GenerateSpec spec, std::shared_ptr<EventSink> sink);
  /// Ends a request with kAbort; unknown ids are ignored. Not between schedule and commit.
  void abort(RequestId id);
  void abort_all();

  /// What the next step is about, for its budget.
  StepLoad load() const;
  /// Plans one step of at most `tokens` tokens, at least 1: empty when there is nothing to do. May
  /// preempt and start sequences. The reference holds until the next call.
  const StepPlan& schedule(TimePoint now, std::int32_t tokens);
  const StepPlan& schedule(TimePoint now) { return schedule(now, options_.step_tokens_max); }
  /// Takes the step's results: one SampledToken per grant that samples, in order.
  void commit(std::span<SampledToken> sampled);

  /// Events since the last call, in order; finished ids likewise.
  std::vector<AddressedEvent> take_events();
  std::vector<RequestId> take_finished();

  bool empty() const { return sequences_.empty(); }
  std::int32_t running_count() const { return static_cast<std::int32_t>(running_.size()); }
  std::int32_t waiting_count() const { return static_cast<std::int32_t>(waiting_.size()); }
  /// Tokens of waiting requests, preempted ones with their output.
  std::int64_t waiting_tokens() const { return waiting_tokens_; }
  const SchedulerCounters& counters() const { return counters_; }

  /// The pool's check, and that the tables' holds are the pool's counts. O(blocks).
  Status check_integrity() const;

 private:
  void enqueue(Sequence& sequence);
  void start_waiting(StepRoom room, std::int32_t blocks_promised);
  std::int32_t start(Sequence& sequence, StepRoom room, std::int32_t blocks_promised);
  std::int32_t try_start(const Sequence& sequence, const cache::PrefixHit& hit, StepRoom room,
                         std::int32_t blocks_promised) const;
  void count_start(Sequence& sequence, std::int32_t hit_tokens);
  void grant(Sequence& sequence, std::int32_t tokens);
  void preempt(std::size_t index);
  void commit_grant(const Grant& grant, SampledToken* sampled);
  void append(Sequence& sequence, SampledToken& sampled);
  TokenEvent event_of(const Sequence& sequence) const;
  void finish(Sequence& sequence, FinishReason reason, TokenEvent event);

  SchedulerOptions options_;
  cache::KvCache& kv_;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;  ///< in order of their (last) start
  std::deque<Sequence*> waiting_;   ///< in order of arrival
  std::int64_t waiting_tokens_ = 0;
  std::uint64_t next_order_ = 0;
  TimePoint now_{};  ///< of the step that is planned
  StepPlan plan_;
  std::vector<RunningCounts> counts_;
  std::vector<AddressedEvent> events_;
  std::vector<RequestId> finished_;
  SchedulerCounters counters_;
};

}  // namespace kantha::sched
