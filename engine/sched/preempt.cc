#include <bit>

#include "base/log.h"
#include "engine/sched/scheduler.h"

/// Takes the blocks of a running sequence back.
namespace kantha::sched {

/// All or nothing: the sequence keeps its tokens, gives up every block and goes back to its place
/// in the waiting line. Its content stays cached until somebody needs the blocks, so that a quick
/// resume finds all of its work again. Recomputation gives the same bits, hence the same further
/// tokens.
void Scheduler::preempt(std::size_t index) {
  Sequence& sequence = *running_[index];
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  sequence.lost_tokens = sequence.computed;
  sequence.blocks.clear(computed_tokens(sequence), sequence.spec.salt);
  sequence.computed = 0;
  dismiss(sequence);
  set_demand(sequence, sequence.wanted());
  line_up(sequence);
  ++counters_.preemptions;
  // Every one is counted; the log says it at 1, 2, 4, 8 … so that thrashing does not fill it.
  if (std::has_single_bit(static_cast<std::uint64_t>(counters_.preemptions))) {
    log_warn("KV blocks ran out, preempted a request", {{"request", sequence.spec.id.value},
                                                        {"computed_tokens", sequence.lost_tokens},
                                                        {"preemptions", counters_.preemptions},
                                                        {"running", running_count()},
                                                        {"waiting", waiting_count()}});
  }
}

}  // namespace kantha::sched
