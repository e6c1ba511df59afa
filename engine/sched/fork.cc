#include <algorithm>

#include "engine/sched/scheduler.h"

/// Parallel samples (n > 1): their prompt is computed once.
namespace kantha::sched {

/// Makes a new request follow its parent, if that is open and has the same prompt. Then it asks for
/// one token: the last of the prompt, whose logits it needs.
bool Scheduler::follow_parent(Sequence& sequence) {
  if (!sequence.spec.fork_of || sequence.scores_prompt()) return false;
  const auto found = sequences_.find(*sequence.spec.fork_of);
  if (found == sequences_.end() || found->second.get() == &sequence) return false;
  Sequence& parent = *found->second;
  if (parent.prompt_count != sequence.prompt_count || parent.spec.salt != sequence.spec.salt ||
      !std::equal(parent.tokens.begin(), parent.tokens.begin() + sequence.prompt_count,
                  sequence.tokens.begin(), sequence.tokens.begin() + sequence.prompt_count)) {
    return false;
  }
  follow(sequence, parent, sequence.prompt_count);
  sequence.forks = true;
  set_demand(sequence, std::max(1, sequence.wanted() - sequence.prompt_count));
  hold(sequence);
  if (parent.computed >= sequence.prompt_count) line_up(sequence);
  return true;
}

/// As start, with the parent's blocks. The last token of the prompt is computed again in a copy of
/// its block, as after a hit of the whole prompt.
std::int32_t Scheduler::start_fork(Sequence& sequence, std::int32_t tokens) {
  const std::int32_t known = std::min(sequence.prompt_count, sequence.wanted() - 1);
  if (!sequence.leader->blocks.can_share(known)) {
    // The parent has gone on, and layers with a window have let the end of the prompt go.
    dismiss_one(sequence);
    return start(sequence, tokens);
  }
  sequence.blocks.share(sequence.leader->blocks, known);
  const std::int32_t needed = sequence.blocks.blocks_to_write(known, sequence.wanted());
  const std::int32_t granted = plan_start(sequence, known, needed, tokens);
  if (granted == 0) {
    sequence.blocks.clear();
    refuse(sequence);
    return 0;
  }
  ++counters_.forks;
  unfollow(sequence);
  begin(sequence, known, needed, granted);
  return granted;
}

}  // namespace kantha::sched
