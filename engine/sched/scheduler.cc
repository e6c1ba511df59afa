#include "engine/sched/scheduler.h"

#include <string>
#include <utility>

namespace kantha::sched {

Scheduler::Scheduler(SchedulerOptions options, cache::KvCache& kv)
    : options_(std::move(options)), kv_(kv) {
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
  return load;
}

const StepPlan& Scheduler::schedule(TimePoint now, std::int32_t tokens) {
  CHECK(tokens >= 1 && tokens <= options_.step_tokens_max, "a budget fits the device");
  now_ = now;
  plan_.grants.clear();
  plan_.copies.clear();
  plan_.shape = {};
  bool preempted = false;
  RunningPlan running;
  while (true) {
    counts_.clear();
    for (const Sequence* sequence : running_) {
      // The next write touches one block that exists already, if any.
      const bool copies =
          sequence->blocks.blocks_to_write(sequence->computed, sequence->computed + 1) > 0 &&
          sequence->blocks.rows() * kv_.block_size() > sequence->computed;
      counts_.push_back({.computed = sequence->computed,
                         .wanted = sequence->wanted(),
                         .blocks_held = sequence->blocks.rows(),
                         .copies = copies ? 1 : 0});
    }
    running = plan_running(counts_, {tokens, kv_.idle()}, kv_.block_size());
    if (!running.victim) break;
    preempt(*running.victim);
    preempted = true;
  }
  for (std::size_t i = 0; i < running.tokens.size(); ++i) {
    if (running.tokens[i] > 0) grant(*running_[i], running.tokens[i]);
  }
  // Starting another one in a step that had to preempt would only preempt again.
  if (!preempted) start_waiting({running.left.tokens, kv_.idle()}, running.blocks_promised);
  CHECK(!plan_.grants.empty() || sequences_.empty(), "a step moves somebody");
  return plan_;
}

void Scheduler::grant(Sequence& sequence, std::int32_t tokens) {
  const std::int32_t end = sequence.computed + tokens;
  CHECK(sequence.blocks.prepare_write(sequence.computed, end, plan_.copies), "the plan fits");
  plan_.grants.push_back({.sequence = &sequence, .tokens = tokens});
  plan_.shape.rows += tokens;
  plan_.shape.decodes += sequence.wanted() - sequence.computed == 1 ? 1 : 0;
  plan_.shape.context_tokens +=
      std::int64_t{tokens} * sequence.computed + std::int64_t{tokens} * (tokens + 1) / 2;
}

std::vector<AddressedEvent> Scheduler::take_events() { return std::exchange(events_, {}); }

std::vector<RequestId> Scheduler::take_finished() { return std::exchange(finished_, {}); }

Status Scheduler::check_integrity() const {
  TRY_OK(kv_.check_integrity());
  std::vector<std::int32_t> holds(static_cast<std::size_t>(kv_.total()), 0);
  for (const auto& [id, sequence] : sequences_) {
    if (sequence->state == SequenceState::kWaiting && sequence->blocks.rows() > 0) {
      return internal_error("scheduler: a waiting request holds blocks");
    }
    for (std::int32_t i = 0; i < sequence->blocks.rows(); ++i) {
      ++holds[static_cast<std::size_t>(sequence->blocks.block(0, i))];
    }
  }
  for (BlockId block = 0; block < kv_.total(); ++block) {
    if (holds[static_cast<std::size_t>(block)] != kv_.pool().holders(block)) {
      return internal_error("scheduler: block " + std::to_string(block) + " has " +
                            std::to_string(kv_.pool().holders(block)) + " holders counted");
    }
  }
  if (running_.size() + waiting_.size() != sequences_.size()) {
    return internal_error("scheduler: a request is in no line");
  }
  std::int64_t tokens = 0;
  for (const Sequence* sequence : waiting_) tokens += sequence->wanted();
  if (tokens != waiting_tokens_) return internal_error("scheduler: waiting tokens are miscounted");
  return ok_status();
}

}  // namespace kantha::sched
