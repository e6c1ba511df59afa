#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/sched/scheduler.h"

/// From a request to a waiting sequence, and from waiting to running.
namespace kantha::sched {
namespace {

/// Requests that are looked at beyond one that does not fit.
constexpr std::size_t kLookahead = 8;
/// Starts that may overtake one that does not fit; then the room is kept for it.
constexpr std::int32_t kOvertakesMax = 16;

}  // namespace

void Scheduler::add(GenerateSpec spec, std::shared_ptr<EventSink> sink) {
  CHECK(!spec.prompt.empty() && spec.max_tokens >= 1, "the door checked the request");
  const RequestId id = spec.id;
  auto owned = std::make_unique<Sequence>(std::move(spec), std::move(sink), kv_);
  Sequence& sequence = *owned;
  CHECK(sequences_.emplace(id, std::move(owned)).second, "request ids are used once");
  sequence.order = next_order_++;
  sequence.prompt_count = static_cast<std::int32_t>(sequence.spec.prompt.size());
  sequence.tokens = std::move(sequence.spec.prompt);
  const std::int64_t longest = std::int64_t{sequence.prompt_count} + sequence.spec.max_tokens;
  sequence.tokens.reserve(
      static_cast<std::size_t>(std::min<std::int64_t>(longest, options_.context_max)));
  sequence.tokens.insert(sequence.tokens.end(), sequence.spec.resumed.begin(),
                         sequence.spec.resumed.end());
  sequence.spec.resumed.clear();
  sequence.end_ids = sequence.spec.stop_token_ids;
  if (!sequence.spec.ignore_eos) {
    sequence.end_ids.insert(sequence.end_ids.end(), options_.end_tokens.begin(),
                            options_.end_tokens.end());
  }
  if (sequence.spec.deadline) deadlines_.emplace(*sequence.spec.deadline, id);
  sequence.flow = &line_.join(sequence.spec.priority, sequence.spec.tenant, sequence.spec.slo);
  if (!follow_parent(sequence)) {
    set_demand(sequence, sequence.wanted());
    line_up(sequence);
  }
  // The stream may have broken between its last token and its end.
  if (sequence.output_count() == 0) return;
  if (const auto reason = completed(sequence, options_.context_max)) {
    finish(sequence, *reason, event_of(sequence));
  }
}

/// The next that could start in this step; those that did not fit before are passed over, within
/// bounds. Nobody overtakes one that was preempted: it would only be preempted again.
Sequence* Scheduler::next_in_line() {
  if (line_.empty() || running_count() >= options_.sequences_max) return nullptr;
  const auto keeps_room = [](const Sequence* sequence) {
    return sequence->resumes() || sequence->overtaken >= kOvertakesMax;
  };
  if (std::ranges::any_of(refused_, keeps_room)) return nullptr;
  for (Sequence* sequence : line_.front(kLookahead)) {
    if (sequence->refused_step != step_) return sequence;
  }
  return nullptr;
}

/// Whether a waiting sequence goes before a running prefill.
bool Scheduler::goes_before(const Sequence& waiting, const RunningCounts& prefill) const {
  if (waiting.spec.priority != prefill.priority) return waiting.spec.priority < prefill.priority;
  const std::int32_t missing =
      waiting.forks ? 1 : waiting.wanted() - kv_.find(waiting.tokens, waiting.spec.salt).tokens;
  return missing < prefill.wanted - prefill.computed;
}

/// Tokens granted to a sequence that starts now, at most `tokens`; 0 when it must wait.
std::int32_t Scheduler::start(Sequence& sequence, std::int32_t tokens) {
  if (sequence.forks) return start_fork(sequence, tokens);
  const std::uint64_t salt = sequence.spec.salt;
  cache::PrefixHit hit = kv_.find(sequence.tokens, salt);
  if (wait_for_head(sequence, hit.tokens)) return 0;
  std::int32_t granted = try_start(sequence, hit, tokens);
  if (granted == 0 && hit.partial != cache::kNoBlock) {
    // No room for a copy: its block is computed again.
    hit = kv_.find_whole(sequence.tokens, salt);
    granted = try_start(sequence, hit, tokens);
  }
  if (granted == 0) {
    refuse(sequence);
    return 0;
  }
  sequence.blocks.adopt(hit, plan_.copies);
  counters_.part_hit_tokens += hit.tokens % shape_.tokens;
  begin(sequence, hit.tokens, blocks_needed(sequence, hit), granted);
  return granted;
}

std::int32_t Scheduler::blocks_needed(const Sequence& sequence, const cache::PrefixHit& hit) const {
  return blocks_in_all(sequence) - hit.blocks_held + hit.blocks_taken;
}

std::int32_t Scheduler::try_start(const Sequence& sequence, const cache::PrefixHit& hit,
                                  std::int32_t tokens) const {
  const WaitingCounts counts{.wanted = sequence.wanted(),
                             .known = hit.tokens,
                             .needed = blocks_needed(sequence, hit),
                             .resumes = sequence.resumes()};
  return plan_waiting(counts, {tokens, spare_blocks_}, running_count(), shape_);
}

/// There is no room for the next one: others may overtake it.
void Scheduler::refuse(Sequence& sequence) {
  sequence.refused_step = step_;
  refused_.push_back(&sequence);
}

/// From waiting to running with `known` tokens in its blocks, and its first grant.
void Scheduler::begin(Sequence& sequence, std::int32_t known, std::int32_t needed,
                      std::int32_t granted) {
  for (Sequence* overtaken : refused_) ++overtaken->overtaken;
  sequence.overtaken = 0;
  spare_blocks_ -= needed;
  leave_line(sequence);
  set_demand(sequence, 0);
  // Recomputation is not the tenant's doing.
  if (!sequence.resumes()) line_.charge(*sequence.flow, sequence.wanted() - known);
  sequence.computed = known;
  sequence.state = SequenceState::kRunning;
  running_.push_back(&sequence);
  if (kv_.options().prefix_caching && known + 1 < sequence.wanted()) heads_.insert(sequence);
  count_start(sequence, known);
  grant(sequence, granted);
}

void Scheduler::count_start(Sequence& sequence, std::int32_t known) {
  if (!sequence.started) {
    sequence.started = true;
    sequence.first_scheduled = now_;
    sequence.cached_tokens = std::min(known, sequence.prompt_count);
    counters_.prompt_tokens += sequence.prompt_count;
    if (kv_.options().prefix_caching) {
      counters_.prefix_queries += sequence.wanted();
      counters_.prefix_hits += known;
    }
  }
  counters_.recomputed_tokens += std::max(0, sequence.lost_tokens - known);
  sequence.lost_tokens = 0;
}

}  // namespace kantha::sched
