#include "engine/sched/scheduler.h"

#include <algorithm>
#include <utility>

namespace kantha::sched {
namespace {

std::int32_t growing_groups(const cache::KvCache& kv) {
  const auto grows = [](const cache::KvGroup& group) { return group.window == 0; };
  return static_cast<std::int32_t>(std::ranges::count_if(kv.options().groups, grows));
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, cache::KvCache& kv)
    : options_(std::move(options)),
      kv_(kv),
      shape_{.tokens = kv.block_size(), .groups = kv.group_count()},
      row_growth_{.tokens = kv.block_size(), .blocks = growing_groups(kv)},
      heads_(kv.block_size()) {
  CHECK(options_.context_max >= 2, "a prompt token and an output token");
  CHECK(options_.sequences_max >= 1 && options_.step_tokens_max >= 1);
}

StepLoad Scheduler::load() const {
  StepLoad load;
  std::int64_t before = 0;
  for (const Sequence* sequence : running_) {
    if (sequence->wanted() - sequence->computed == 1) {
      ++load.decodes;
      load.decode_context += sequence->wanted();
    } else {
      before += sequence->computed;
    }
  }
  const std::int64_t prefills = running_count() - load.decodes;
  if (prefills > 0) load.prefill_context = static_cast<std::int32_t>(before / prefills);
  load.prompts = prefills + std::min(waiting_count(), options_.sequences_max - running_count());
  return load;
}

ScoredRows scored_rows(const Grant& grant) {
  const Sequence& sequence = *grant.sequence;
  if (!sequence.scores_prompt()) return {};
  const std::int32_t begin = std::max(sequence.computed, sequence.scores->count);
  const std::int32_t end = std::min(sequence.computed + grant.tokens, sequence.scores->size());
  return {.begin = begin, .end = std::max(begin, end)};
}

const StepPlan& Scheduler::schedule(TimePoint now, std::int32_t tokens) {
  CHECK(tokens >= 1 && tokens <= options_.step_tokens_max, "a budget fits the device");
  now_ = now;
  ++step_;
  plan_.grants.clear();
  plan_.copies.clear();
  plan_.shape = {};
  for (Sequence* sequence : running_) sequence->granted = 0;
  expire();
  dismiss_stalled();
  bool preempted = false;
  while (!sequences_.empty()) {
    count_running();
    if (plan_decodes(counts_, {tokens, kv_.idle()}, shape_, decodes_)) {
      for (const std::size_t i : decodes_) grant(*running_[i], 1);
      // Starting another one in a step that had to preempt would only preempt again.
      hand_out(tokens - static_cast<std::int32_t>(decodes_.size()), !preempted);
      if (plan_.shape.rows > 0) break;
    }
    preempt(choose_victim(counts_, options_.victims));
    preempted = true;
  }
  for (Sequence* sequence : running_) {
    if (sequence->granted > 0) plan_.grants.push_back({sequence, sequence->granted});
  }
  counters_.block_copies += static_cast<std::int64_t>(plan_.copies.size());
  return plan_;
}

void Scheduler::count_running() {
  counts_.clear();
  for (const Sequence* sequence : running_) {
    const std::int32_t computed = sequence->computed;
    const std::int32_t rows = sequence->blocks.rows();
    // The next write touches a row that exists already, if any.
    const bool inside = rows * shape_.tokens > computed;
    counts_.push_back(
        {.computed = computed,
         .wanted = sequence->wanted(),
         .rows = rows,
         .copies = inside ? sequence->blocks.blocks_to_write(computed, computed + 1) : 0,
         .priority = sequence->spec.priority,
         .batch = sequence->spec.slo == SloClass::kBatch,
         .turn = sequence->turn});
  }
}

/// What a sequence holds when all that it wants is computed.
std::int32_t Scheduler::blocks_in_all(const Sequence& sequence) const {
  return cache::blocks_for(kv_.options(), sequence.wanted(), options_.step_tokens_max);
}

/// Idle blocks that no running sequence still needs for what it wants now; may be negative.
std::int32_t Scheduler::count_spare_blocks() const {
  std::int32_t spare = kv_.idle();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (running_[i]->granted > 0) continue;
    spare -= std::max(0, blocks_in_all(*running_[i]) - running_[i]->blocks.held());
    spare -= counts_[i].copies;
  }
  return spare;
}

/// What decodes leave of the budget, to running prefills and waiting requests, shortest first.
void Scheduler::hand_out(std::int32_t tokens, bool may_start) {
  order_prefills(counts_, prefills_);
  const OldestShare oldest = share_of_oldest(counts_, tokens);
  std::int32_t kept = oldest.tokens;
  const bool oldest_scores = oldest.index && running_[*oldest.index]->scores_prompt();
  std::int32_t kept_rows = oldest_scores ? options_.score_rows_max / 4 : 0;
  score_rows_left_ = options_.score_rows_max - kept_rows;
  may_start = may_start && !line_.empty();
  if (may_start) spare_blocks_ = count_spare_blocks();
  refused_.clear();
  for (std::size_t next = 0; tokens > 0;) {
    Sequence* waiting = may_start && tokens > kept ? next_in_line() : nullptr;
    const bool none_left = next == prefills_.size();
    if (waiting != nullptr && (none_left || goes_before(*waiting, counts_[prefills_[next]]))) {
      tokens -= start(*waiting, within_score_rows(*waiting, tokens - kept));
      continue;
    }
    if (none_left) break;
    const std::size_t i = prefills_[next++];
    if (oldest.index == i) {
      kept = 0;
      score_rows_left_ += std::exchange(kept_rows, 0);
    }
    const std::int32_t most = within_score_rows(*running_[i], tokens - kept);
    const std::int32_t granted = tokens_that_fit(counts_[i], {most, kv_.idle()}, shape_);
    if (granted > 0) grant(*running_[i], granted);
    tokens -= granted;
  }
}

/// As many of `tokens` as the step has rows of logits for, where they score the prompt.
std::int32_t Scheduler::within_score_rows(const Sequence& sequence, std::int32_t tokens) const {
  if (!sequence.scores_prompt()) return tokens;
  const std::int32_t next = std::max(sequence.computed, sequence.scores->count);
  if (sequence.scores->size() - next <= score_rows_left_) return tokens;
  return std::min(tokens, next - sequence.computed + score_rows_left_);
}

void Scheduler::grant(Sequence& sequence, std::int32_t tokens) {
  const std::int32_t end = sequence.computed + tokens;
  CHECK(sequence.blocks.prepare_write(sequence.computed, end, plan_.copies), "the plan fits");
  const ScoredRows scored = scored_rows({.sequence = &sequence, .tokens = tokens});
  score_rows_left_ -= scored.end - scored.begin;
  plan_.shape.rows += tokens;
  plan_.shape.decodes += sequence.wanted() - sequence.computed == 1 ? 1 : 0;
  plan_.shape.context_tokens +=
      std::int64_t{tokens} * sequence.computed + std::int64_t{tokens} * (tokens + 1) / 2;
  sequence.granted = tokens;
  sequence.last_step = step_;
  sequence.turn = next_turn_++;
}

std::vector<AddressedEvent> Scheduler::take_events() { return std::exchange(events_, {}); }

std::vector<RequestId> Scheduler::take_finished() { return std::exchange(finished_, {}); }

void Scheduler::take_events(std::vector<AddressedEvent>& events) {
  events.clear();
  events.swap(events_);
}

void Scheduler::take_finished(std::vector<RequestId>& finished) {
  finished.clear();
  finished.swap(finished_);
}

}  // namespace kantha::sched
