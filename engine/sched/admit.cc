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
/// A look-up in the cache costs as much as a prompt is long. One that does not fit is looked up
/// again after a step for so many of its tokens, and one such in a step.
constexpr std::int32_t kTokensPerWait = 256;

}  // namespace

void Scheduler::add(GenerateSpec spec, std::shared_ptr<EventSink> sink) {
  CHECK(!spec.prompt.empty() && spec.max_tokens >= 0, "the door checked the request");
  CHECK(spec.prompt_logprobs < 0 || options_.score_rows_max > 0, "the door checked the request");
  CHECK(spec.pooling == Pooling::kNone || spec.max_tokens == 0, "nothing is generated of it");
  CHECK(spec.pooling != Pooling::kMean || spec.prompt_logprobs >= 0, "rows of the whole prompt");
  const RequestId id = spec.id;
  auto owned = std::make_unique<Sequence>(std::move(spec), std::move(sink), kv_);
  Sequence& sequence = *owned;
  CHECK(sequences_.emplace(id, std::move(owned)).second, "request ids are used once");
  sequence.order = next_order_++;
  sequence.prompt_count = static_cast<std::int32_t>(sequence.spec.prompt.size());
  sequence.tokens = std::move(sequence.spec.prompt);
  sequence.tokens.insert(sequence.tokens.end(), sequence.spec.resumed.begin(),
                         sequence.spec.resumed.end());
  sequence.end_ids = sequence.spec.stop_token_ids;
  if (!sequence.spec.ignore_eos) {
    sequence.end_ids.insert(sequence.end_ids.end(), options_.end_tokens.begin(),
                            options_.end_tokens.end());
  }
  if (sequence.spec.prompt_logprobs >= 0) {
    sequence.scores =
        std::make_shared<PromptScores>(sequence.prompt_count, sequence.spec.prompt_logprobs);
  }
  if (sequence.spec.rules != nullptr && sequence.spec.rules->grammar != nullptr) {
    sequence.grammar.emplace(sequence.spec.rules->grammar);
    for (const TokenId token : sequence.spec.resumed) follow_grammar(sequence, token);
  }
  sequence.spec.resumed.clear();
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
  const auto keeps_room = [](const Sequence* sequence) {
    return sequence->resumes() || sequence->overtaken >= kOvertakesMax;
  };
  if (running_count() >= options_.sequences_max) return nullptr;
  while (true) {
    if (std::ranges::any_of(refused_, keeps_room)) return nullptr;
    const std::span<Sequence* const> front = line_.front(kLookahead);
    const auto fresh = std::ranges::find_if(
        front, [this](const Sequence* sequence) { return sequence->refused_step != step_; });
    if (fresh == front.end()) return nullptr;
    if (look(**fresh)) return *fresh;
  }
}

/// Whether a sequence that did not fit still does not, by what the cache had for it then.
bool Scheduler::still_too_large(const Sequence& sequence) {
  const auto patience = static_cast<std::uint64_t>(sequence.wanted() / kTokensPerWait);
  if (sequence.search_step == 0 || patience == 0) return false;
  const bool due = step_ - sequence.search_step >= patience && last_search_step_ != step_;
  if (!due && plan_start(sequence, sequence.search_known, sequence.search_needed, 1) == 0) {
    return true;
  }
  last_search_step_ = step_;
  return false;
}

/// Finds out, once in a step, what a waiting sequence misses; false when it cannot start: it does
/// not fit, or it left the line because another one is computing its head.
bool Scheduler::look(Sequence& sequence) {
  if (sequence.looked_step == step_) return true;
  if (still_too_large(sequence)) {
    refuse(sequence);
    return false;
  }
  sequence.looked_step = step_;
  std::int32_t known = sequence.wanted() - 1;
  if (sequence.scores_prompt()) {
    known = 0;  // every row's logits are wanted: what is cached has none
  } else if (!sequence.forks) {
    known = kv_.find(sequence.tokens, sequence.spec.salt).tokens;
    if (wait_for_head(sequence, known)) return false;
  }
  sequence.missing = sequence.wanted() - known;
  return true;
}

/// Whether a waiting sequence goes before a running prefill.
bool Scheduler::goes_before(const Sequence& waiting, const RunningCounts& prefill) {
  if (waiting.spec.priority != prefill.priority) return waiting.spec.priority < prefill.priority;
  return waiting.missing < prefill.wanted - prefill.computed;
}

/// Tokens granted to a sequence that starts now, at most `tokens`; 0 when it must wait.
std::int32_t Scheduler::start(Sequence& sequence, std::int32_t tokens) {
  if (sequence.forks) return start_fork(sequence, tokens);
  const std::uint64_t salt = sequence.spec.salt;
  cache::PrefixHit hit;
  if (!sequence.scores_prompt()) hit = kv_.find(sequence.tokens, salt);
  std::int32_t granted = try_start(sequence, hit, tokens);
  if (granted == 0 && hit.partial != cache::kNoNode) {
    // No room for a copy: its block is computed again.
    hit = kv_.find_whole(sequence.tokens, salt);
    granted = try_start(sequence, hit, tokens);
  }
  if (granted == 0) {
    sequence.search_step = step_;
    sequence.search_known = hit.tokens;
    sequence.search_needed = blocks_needed(sequence, hit);
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
                                  std::int32_t tokens) {
  return plan_start(sequence, hit.tokens, blocks_needed(sequence, hit), tokens);
}

/// Tokens for a sequence that knows the first `known` of its tokens and needs so many blocks.
std::int32_t Scheduler::plan_start(const Sequence& sequence, std::int32_t known,
                                   std::int32_t needed, std::int32_t tokens) {
  const WaitingCounts counts{
      .wanted = sequence.wanted(), .known = known, .needed = needed, .resumes = sequence.resumes()};
  const std::int32_t granted =
      plan_waiting(counts, {tokens, spare_blocks_}, running_count(), shape_);
  return granted > 0 && lasts(sequence, needed) ? granted : 0;
}

/// Whether the blocks are expected to do when this one starts too. Alone it always starts.
bool Scheduler::lasts(const Sequence& sequence, std::int32_t needed) {
  if (!options_.foresight || running_.empty()) return true;
  if (foreseen_step_ != step_) {
    foreseen_step_ = step_;
    foreseen_idle_ = kv_.idle();
    foresight_.clear();
    lengths_.settle();
    for (const Sequence* running : running_) foresee(*running);
  }
  return foresight_.peak_with(growth_of(sequence, needed), lengths_, row_growth_) <= foreseen_idle_;
}

void Scheduler::foresee(const Sequence& sequence) {
  const std::int32_t held = sequence.blocks.held();
  Growth growth = growth_of(sequence, blocks_in_all(sequence) - held);
  growth.freed = std::max(0, held - sequence.shared_blocks);
  foresight_.add(growth, lengths_, row_growth_);
}

Growth Scheduler::growth_of(const Sequence& sequence, std::int32_t needed) const {
  const std::int32_t limit = std::min(sequence.spec.max_tokens - sequence.output_count(),
                                      options_.context_max - sequence.wanted());
  const std::int32_t beyond = sequence.wanted() % shape_.tokens;
  return {.so_far = sequence.output_count(),
          .limit = std::max(0, limit),
          .needed = std::max(0, needed),
          .slack = beyond == 0 ? 0 : shape_.tokens - beyond};
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
  sequence.search_step = 0;
  spare_blocks_ -= needed;
  if (foreseen_step_ == step_) {
    foresight_.add(growth_of(sequence, needed), lengths_, row_growth_);
  }
  leave_line(sequence);
  set_demand(sequence, 0);
  // Recomputation is not the tenant's doing.
  if (!sequence.resumes()) line_.charge(*sequence.flow, sequence.wanted() - known);
  // Not before: a long window for each of many that wait would be much.
  const std::int64_t longest = std::int64_t{sequence.prompt_count} + sequence.spec.max_tokens;
  sequence.tokens.reserve(
      static_cast<std::size_t>(std::min<std::int64_t>(longest, options_.context_max)));
  sequence.computed = known;
  sequence.shared_blocks = sequence.blocks.held();
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
    if (kv_.options().prefix_caching && !sequence.scores_prompt()) {
      counters_.prefix_queries += sequence.wanted();
      counters_.prefix_hits += known;
    }
  }
  counters_.recomputed_tokens += std::max(0, sequence.lost_tokens - known);
  sequence.lost_tokens = 0;
}

}  // namespace kantha::sched
