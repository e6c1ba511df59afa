#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/sched/scheduler.h"

/// From a step's results to progress, events and ends.
namespace kantha::sched {

bool is_end(const Sequence& sequence, TokenId token) {
  return std::ranges::find(sequence.end_ids, token) != sequence.end_ids.end();
}

void follow_grammar(Sequence& sequence, TokenId token) {
  if (!sequence.grammar || is_end(sequence, token)) return;
  if (!sequence.grammar->accept(token)) sequence.off_grammar = true;
}

std::optional<FinishReason> completed(const Sequence& sequence, std::int32_t context_max) {
  if (is_end(sequence, sequence.tokens.back())) return FinishReason::kStop;
  if (sequence.grammar && sequence.grammar->is_finished()) return FinishReason::kStop;
  if (sequence.output_count() >= sequence.spec.max_tokens || sequence.wanted() >= context_max) {
    return FinishReason::kLength;
  }
  return std::nullopt;
}

void Scheduler::commit(std::span<SampledToken> sampled) {
  std::size_t next = 0;
  for (const Grant& grant : plan_.grants) {
    SampledToken* result = nullptr;
    if (grant.samples()) {
      CHECK(next < sampled.size(), "one result per grant that samples");
      result = &sampled[next++];
    }
    commit_grant(grant, result);
  }
  CHECK(next == sampled.size(), "one result per grant that samples");
  plan_.grants.clear();
}

void Scheduler::commit_grant(const Grant& grant, SampledToken* sampled) {
  Sequence& sequence = *grant.sequence;
  sequence.granted = 0;
  if (sampled != nullptr && !sampled->error.empty()) {
    // What was computed is not to be trusted: end without publishing it.
    TokenEvent event = event_of(sequence);
    event.error = std::move(sampled->error);
    event.forbidden = sampled->forbidden;
    finish(sequence, FinishReason::kError, std::move(event));
    return;
  }
  if (!take_scores(grant)) return;
  sequence.computed += grant.tokens;
  counters_.computed_tokens += grant.tokens;
  sequence.blocks.publish(computed_tokens(sequence), sequence.spec.salt);
  lead(sequence);
  if (sequence.computed == sequence.wanted()) heads_.erase(sequence);
  if (sampled == nullptr) return;
  if (sequence.spec.max_tokens > 0) {
    append(sequence, *sampled);
    return;
  }
  TokenEvent event = event_of(sequence);
  event.prompt_scores = std::move(sequence.scores);
  if (sequence.spec.pooling != Pooling::kNone) {
    event.pooled_states = std::make_shared<const std::vector<double>>(std::move(sequence.pooled));
  }
  finish(sequence, FinishReason::kLength, std::move(event));
}

/// Counts what the step has scored of the prompt. False when that was unusable: then it has ended.
bool Scheduler::take_scores(const Grant& grant) {
  Sequence& sequence = *grant.sequence;
  const ScoredRows rows = scored_rows(grant);
  for (std::int32_t i = rows.begin; i < rows.end; ++i) {
    if (!std::isnan(sequence.scores->logprobs[static_cast<std::size_t>(i)])) continue;
    TokenEvent event = event_of(sequence);
    event.error = "the model's output holds NaN or infinity";
    finish(sequence, FinishReason::kError, std::move(event));
    return false;
  }
  if (rows.end > rows.begin) sequence.scores->count = rows.end;
  return true;
}

void Scheduler::append(Sequence& sequence, SampledToken& sampled) {
  sequence.tokens.push_back(sampled.token);
  follow_grammar(sequence, sampled.token);
  ++counters_.generation_tokens;
  line_.charge(*sequence.flow, 1);
  TokenEvent event = event_of(sequence);
  event.token = sampled.token;
  event.logprob = sampled.logprob;
  event.top_logprobs = std::move(sampled.top_logprobs);
  event.prompt_scores = std::move(sequence.scores);
  const auto reason = completed(sequence, options_.context_max);
  event.ends_with_text = reason == FinishReason::kStop && !is_end(sequence, sampled.token);
  lengths_.observe(sequence.output_count(), reason == FinishReason::kStop);
  if (reason) {
    finish(sequence, *reason, std::move(event));
  } else {
    events_.push_back({sequence.sink, std::move(event)});
  }
}

TokenEvent Scheduler::event_of(const Sequence& sequence) const {
  TokenEvent event;
  event.id = sequence.spec.id;
  event.prompt_tokens = sequence.prompt_count;
  event.cached_tokens = sequence.cached_tokens;
  event.output_tokens = sequence.output_count();
  event.first_scheduled = sequence.first_scheduled;
  return event;
}

void Scheduler::finish(Sequence& sequence, FinishReason reason, TokenEvent event) {
  event.finish = reason;
  ++counters_.finished[static_cast<std::size_t>(reason)];
  const RequestId id = sequence.spec.id;
  if (sequence.state == SequenceState::kRunning) {
    std::erase(running_, &sequence);
  } else {
    leave_line(sequence);
  }
  set_demand(sequence, 0);
  unfollow(sequence);
  dismiss(sequence);
  line_.leave(*sequence.flow);
  if (sequence.spec.deadline) deadlines_.erase({*sequence.spec.deadline, id});
  events_.push_back({std::move(sequence.sink), std::move(event)});
  finished_.push_back(id);
  if (reason != FinishReason::kError) {
    // Its tail is the head of a chat's next turn.
    sequence.blocks.clear(computed_tokens(sequence), sequence.spec.salt);
  }
  sequences_.erase(id);  // gives the blocks back
}

void Scheduler::abort(RequestId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  finish(*found->second, FinishReason::kAbort, event_of(*found->second));
}

/// Ends whatever should have been ready by now.
void Scheduler::expire() {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    Sequence& sequence = *sequences_.at(deadlines_.begin()->second);
    finish(sequence, FinishReason::kDeadline, event_of(sequence));
  }
}

void Scheduler::abort_all() {
  while (!sequences_.empty()) abort(sequences_.begin()->first);
}

}  // namespace kantha::sched
