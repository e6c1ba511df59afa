#include <algorithm>
#include <utility>

#include "engine/sched/scheduler.h"

/// From a request to a waiting sequence, and from waiting to running.
namespace kantha::sched {

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
  enqueue(sequence);
  // The stream may have broken between its last token and its end.
  if (sequence.output_count() == 0) return;
  if (const auto reason = completed(sequence, options_.context_max)) {
    finish(sequence, *reason, event_of(sequence));
  }
}

void Scheduler::enqueue(Sequence& sequence) {
  sequence.state = SequenceState::kWaiting;
  const auto place = std::ranges::upper_bound(waiting_, sequence.order, {}, &Sequence::order);
  waiting_.insert(place, &sequence);
  waiting_tokens_ += sequence.wanted();
}

void Scheduler::start_waiting(StepRoom room, std::int32_t blocks_promised) {
  while (!waiting_.empty() && running_count() < options_.sequences_max) {
    Sequence& sequence = *waiting_.front();
    const std::int32_t tokens = start(sequence, room, blocks_promised);
    if (tokens == 0) return;
    room.tokens -= tokens;
    room.blocks = kv_.idle();
    const std::int32_t block_size = kv_.block_size();
    blocks_promised += (sequence.wanted() + block_size - 1) / block_size - sequence.blocks.rows();
  }
}

std::int32_t Scheduler::try_start(const Sequence& sequence, const cache::PrefixHit& hit,
                                  StepRoom room, std::int32_t blocks_promised) const {
  const WaitingCounts counts{.wanted = sequence.wanted(),
                             .hit_tokens = hit.tokens,
                             .hit_blocks = hit.blocks_held,
                             .hit_taken = hit.blocks_taken,
                             .resumes = sequence.lost_tokens > 0};
  return plan_waiting(counts, room, blocks_promised, running_count(), kv_.block_size());
}

/// Tokens granted to a sequence that starts now; 0 and nothing changed when it must wait.
std::int32_t Scheduler::start(Sequence& sequence, StepRoom room, std::int32_t blocks_promised) {
  const std::uint64_t salt = sequence.spec.salt;
  cache::PrefixHit hit = kv_.find(sequence.tokens, salt);
  std::int32_t tokens = try_start(sequence, hit, room, blocks_promised);
  if (tokens == 0 && hit.partial != cache::kNoBlock) {
    // No room for a copy: its block is computed again.
    hit = kv_.find_whole(sequence.tokens, salt);
    tokens = try_start(sequence, hit, room, blocks_promised);
  }
  if (tokens == 0) return 0;
  waiting_.pop_front();
  waiting_tokens_ -= sequence.wanted();
  sequence.blocks.adopt(hit, plan_.copies);
  sequence.computed = hit.tokens;
  sequence.state = SequenceState::kRunning;
  running_.push_back(&sequence);
  count_start(sequence, hit.tokens);
  grant(sequence, tokens);
  return tokens;
}

void Scheduler::count_start(Sequence& sequence, std::int32_t hit_tokens) {
  if (!sequence.started) {
    sequence.started = true;
    sequence.first_scheduled = now_;
    sequence.cached_tokens = std::min(hit_tokens, sequence.prompt_count);
    counters_.prompt_tokens += sequence.prompt_count;
    if (kv_.options().prefix_caching) {
      counters_.prefix_queries += sequence.wanted();
      counters_.prefix_hits += hit_tokens;
    }
  }
  counters_.recomputed_tokens += std::max(0, sequence.lost_tokens - hit_tokens);
  sequence.lost_tokens = 0;
}

}  // namespace kantha::sched
