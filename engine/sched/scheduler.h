#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/sched/foresight.h"
#include "engine/sched/output_lengths.h"
#include "engine/sched/schedule_step.h"
#include "engine/sched/sequence.h"
#include "engine/sched/shared_heads.h"
#include "engine/sched/step_budget.h"
#include "engine/sched/waiting_line.h"

/// Decides which tokens the next step computes, and what the results mean.
namespace kantha::sched {

struct SchedulerOptions {
  std::int32_t context_max = 0;          ///< tokens of prompt + output
  std::int32_t sequences_max = 0;        ///< running at once
  std::int32_t step_tokens_max = 0;      ///< that fit into one step
  std::vector<TokenId> end_tokens = {};  ///< of the model
  std::int32_t score_rows_max = 0;       ///< logits in one step that score prompts; 0: none can be
  VictimRule victims = VictimRule::kLeastComputed;
  /// Starts only what is expected to end without preempting; off: as soon as a prompt fits.
  bool foresight = true;
};

/// `tokens` further for one sequence, from its computed count on.
struct Grant {
  Sequence* sequence = nullptr;
  std::int32_t tokens = 0;
  /// The grant reaches the end of what is known: its last row's logits give the next token.
  bool samples() const { return sequence->computed + tokens == sequence->wanted(); }
};

/// Positions [begin, end) of a grant whose logits score the prompt.
struct ScoredRows {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};
ScoredRows scored_rows(const Grant& grant);

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
  std::int64_t recomputed_tokens = 0;  ///< of computed_tokens, for the second time
  std::int64_t computed_tokens = 0;    ///< by the device
  std::int64_t block_copies = 0;
  std::int64_t forks = 0;
  std::int64_t shared_waits = 0;
  std::int64_t part_hit_tokens = 0;
  std::int64_t finished[kFinishReasonCount] = {};  ///< by FinishReason
};

/// Owns the sequences; the cache is given and outlives it. Everything runs on the engine thread:
///   add, abort … → schedule → (device) → commit → take_events.
/// Split by phase: admit.cc with fork.cc and follow.cc, scheduler.cc with schedule_step.cc,
/// preempt.cc, commit.cc.
class Scheduler {
 public:
  Scheduler(SchedulerOptions options, cache::KvCache& kv);

  /// Puts a checked request (gateway/admission.h) in the waiting line. One whose resumed tokens are
  /// already complete ends at once.
  void add(GenerateSpec spec, std::shared_ptr<EventSink> sink);
  /// Ends a request with kAbort; unknown ids are ignored. Not between schedule and commit.
  void abort(RequestId id);
  void abort_all();

  /// What the next step is about, for its budget.
  StepLoad load() const;
  /// Plans one step of at most `tokens` tokens, at least 1: empty when there is nothing to do. Ends
  /// what has passed its deadline; may preempt and start sequences. The reference holds until the
  /// next call.
  const StepPlan& schedule(TimePoint now, std::int32_t tokens);
  const StepPlan& schedule(TimePoint now) { return schedule(now, options_.step_tokens_max); }
  /// Takes the step's results: one SampledToken per grant that samples, in order.
  void commit(std::span<SampledToken> sampled);

  /// Events since the last call, in order; finished ids likewise.
  std::vector<AddressedEvent> take_events();
  std::vector<RequestId> take_finished();
  /// The same by exchange of storage, without allocating; what `events`, `finished` held is gone.
  void take_events(std::vector<AddressedEvent>& events);
  void take_finished(std::vector<RequestId>& finished);

  bool empty() const { return sequences_.empty(); }
  std::int32_t running_count() const { return static_cast<std::int32_t>(running_.size()); }
  std::int32_t waiting_count() const {
    return static_cast<std::int32_t>(line_.size()) + held_count_;
  }
  /// Tokens of waiting requests, preempted ones with their output; of one that will share another's
  /// prompt, only those after it and at least 1.
  std::int64_t waiting_tokens() const { return waiting_tokens_; }
  const SchedulerCounters& counters() const { return counters_; }

  /// The pool's check, and that the tables' holds are the pool's counts. O(blocks).
  Status check_integrity() const;

 private:
  // admit.cc
  Sequence* next_in_line();
  bool still_too_large(const Sequence& sequence);
  bool look(Sequence& sequence);
  static bool goes_before(const Sequence& waiting, const RunningCounts& prefill);
  std::int32_t start(Sequence& sequence, std::int32_t tokens);
  std::int32_t plan_start(const Sequence& sequence, std::int32_t known, std::int32_t needed,
                          std::int32_t tokens);
  bool lasts(const Sequence& sequence, std::int32_t needed);
  void foresee(const Sequence& sequence);
  Growth growth_of(const Sequence& sequence, std::int32_t needed) const;
  std::int32_t try_start(const Sequence& sequence, const cache::PrefixHit& hit,
                         std::int32_t tokens);
  std::int32_t blocks_needed(const Sequence& sequence, const cache::PrefixHit& hit) const;
  void refuse(Sequence& sequence);
  void begin(Sequence& sequence, std::int32_t known, std::int32_t needed, std::int32_t granted);
  void count_start(Sequence& sequence, std::int32_t known);
  // fork.cc
  bool follow_parent(Sequence& sequence);
  std::int32_t start_fork(Sequence& sequence, std::int32_t tokens);
  // follow.cc
  static void follow(Sequence& sequence, Sequence& leader, std::int32_t tokens);
  static void unfollow(Sequence& sequence);
  void hold(Sequence& sequence);
  void line_up(Sequence& sequence);
  void leave_line(Sequence& sequence);
  void set_demand(Sequence& sequence, std::int32_t tokens);
  void lead(Sequence& leader);
  void dismiss(Sequence& leader);
  void dismiss_one(Sequence& follower);
  void dismiss_stalled();
  bool wait_for_head(Sequence& sequence, std::int32_t known);
  // scheduler.cc
  void count_running();
  std::int32_t blocks_in_all(const Sequence& sequence) const;
  std::int32_t count_spare_blocks() const;
  void hand_out(std::int32_t tokens, bool may_start);
  void grant(Sequence& sequence, std::int32_t tokens);
  std::int32_t within_score_rows(const Sequence& sequence, std::int32_t tokens) const;
  // preempt.cc, commit.cc
  void preempt(std::size_t index);
  void commit_grant(const Grant& grant, SampledToken* sampled);
  bool take_scores(const Grant& grant);
  void append(Sequence& sequence, SampledToken& sampled);
  TokenEvent event_of(const Sequence& sequence) const;
  void finish(Sequence& sequence, FinishReason reason, TokenEvent event);
  void expire();
  // check_scheduler.cc
  Status check_holds() const;
  Status check_sequence(const Sequence& sequence) const;

  SchedulerOptions options_;
  cache::KvCache& kv_;
  BlockShape shape_;
  RowGrowth row_growth_;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;  ///< in order of their (last) start
  WaitingLine line_;
  SharedHeads heads_;
  std::set<std::pair<TimePoint, RequestId>> deadlines_;
  std::int32_t held_count_ = 0;  ///< sequences that wait beside the line
  std::int64_t waiting_tokens_ = 0;
  OutputLengths lengths_;
  std::uint64_t next_order_ = 0;
  std::uint64_t next_turn_ = 1;

  // Of the step that is planned.
  TimePoint now_{};
  std::uint64_t step_ = 0;
  StepPlan plan_;
  std::vector<RunningCounts> counts_;  ///< [running]
  std::vector<std::size_t> decodes_;   ///< indices of running ones
  std::vector<std::size_t> prefills_;
  std::vector<Sequence*> refused_;      ///< did not fit
  std::uint64_t last_search_step_ = 0;  ///< that looked up one that had not fitted before
  std::int32_t spare_blocks_ = 0;
  std::int32_t score_rows_left_ = 0;
  Foresight foresight_;  ///< of those that run
  std::uint64_t foreseen_step_ = 0;
  std::int32_t foreseen_idle_ = 0;  ///< blocks when that was computed

  std::vector<AddressedEvent> events_;
  std::vector<RequestId> finished_;
  SchedulerCounters counters_;
};

}  // namespace kantha::sched
