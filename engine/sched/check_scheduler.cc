#include <algorithm>
#include <string>

#include "engine/sched/scheduler.h"

/// What must hold between two steps; for tests and debug builds.
namespace kantha::sched {

Status Scheduler::check_integrity() const {
  TRY_OK(kv_.check_integrity());
  TRY_OK(line_.check_integrity());
  TRY_OK(check_holds());
  std::size_t held = 0;
  std::size_t leading = 0;
  std::size_t deadlines = 0;
  std::int64_t tokens = 0;
  for (const auto& [id, sequence] : sequences_) {
    TRY_OK(check_sequence(*sequence));
    held += sequence->state == SequenceState::kHeld ? 1 : 0;
    leading += sequence->leads ? 1 : 0;
    deadlines += sequence->spec.deadline ? 1 : 0;
    tokens += sequence->demand;
  }
  if (running_.size() + line_.size() + held != sequences_.size() ||
      held != static_cast<std::size_t>(held_count_)) {
    return internal_error("scheduler: a request is in no line");
  }
  if (tokens != waiting_tokens_) return internal_error("scheduler: waiting tokens are miscounted");
  if (leading != heads_.size()) return internal_error("scheduler: unknown prefills lead");
  if (deadlines != deadlines_.size()) return internal_error("scheduler: unknown deadlines");
  return ok_status();
}

/// The tables' holds are the pool's counts.
Status Scheduler::check_holds() const {
  std::vector<std::int32_t> holds(static_cast<std::size_t>(kv_.total()), 0);
  for (const auto& [id, sequence] : sequences_) {
    for (std::int32_t group = 0; group < kv_.group_count(); ++group) {
      for (std::int32_t row = 0; row < sequence->blocks.rows(); ++row) {
        const BlockId block = sequence->blocks.block(group, row);
        if (block != cache::kNoBlock) ++holds[static_cast<std::size_t>(block)];
      }
    }
  }
  for (BlockId block = 0; block < kv_.total(); ++block) {
    if (holds[static_cast<std::size_t>(block)] != kv_.pool().holders(block)) {
      return internal_error("scheduler: block " + std::to_string(block) + " has " +
                            std::to_string(kv_.pool().holders(block)) + " holders counted");
    }
  }
  return ok_status();
}

Status Scheduler::check_sequence(const Sequence& sequence) const {
  const auto broken = [&](const char* what) {
    return internal_error("scheduler: request " + std::to_string(sequence.spec.id.value) + " " +
                          what);
  };
  const bool runs = sequence.state == SequenceState::kRunning;
  if (!runs && sequence.blocks.rows() > 0) return broken("waits and holds blocks");
  if (!runs && sequence.leads) return broken("waits and leads");
  if (runs != (sequence.demand == 0)) return broken("counts as waiting and running");
  if (runs && sequence.computed >= sequence.wanted()) return broken("runs and wants nothing");
  if (sequence.leader == nullptr) {
    return sequence.forks || sequence.state == SequenceState::kHeld ? broken("waits for nobody")
                                                                    : ok_status();
  }
  if (runs) return broken("runs and follows");
  if (std::ranges::count(sequence.leader->followers, &sequence) != 1) {
    return broken("follows one that does not know it");
  }
  const bool ready = sequence.leader->computed >= sequence.leader_tokens;
  if (sequence.state == SequenceState::kHeld && ready) return broken("waits for what is there");
  if (sequence.state == SequenceState::kWaiting && !(sequence.forks && ready)) {
    return broken("is in line and follows");
  }
  return ok_status();
}

}  // namespace kantha::sched
