#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/sequence_blocks.h"
#include "engine/grammar/grammar.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/prompt_scores.h"
#include "engine/sched/token_counts.h"
#include "engine/sched/token_event.h"
#include "engine/sched/waiting_line.h"

/// One request while the engine works on it.
namespace kantha::sched {

enum class SequenceState : std::uint8_t {
  kWaiting,  ///< in line to start; holds no blocks
  kHeld,     ///< waits for its leader and not in line; holds no blocks
  kRunning,  ///< takes part in steps
};

/// Two counters say everything about progress: `computed` tokens have their keys and values in
/// `blocks`, and all of `tokens` are wanted. When computed reaches wanted, the step's logits give
/// the next token and wanted rises by one. The engine thread owns it.
struct Sequence {
  Sequence(GenerateSpec given, std::shared_ptr<EventSink> events, cache::KvCache& kv)
      : spec(std::move(given)), sink(std::move(events)), blocks(kv) {}

  std::int32_t wanted() const { return static_cast<std::int32_t>(tokens.size()); }
  std::int32_t output_count() const { return wanted() - prompt_count; }
  bool resumes() const { return lost_tokens > 0; }
  /// Logits of prompt rows are still wanted: of the positions [scores->count, prompt_count - 1).
  bool scores_prompt() const { return scores != nullptr && !scores->complete(); }

  GenerateSpec spec;  ///< prompt and resumed have moved into `tokens`
  std::shared_ptr<EventSink> sink;
  cache::SequenceBlocks blocks;
  SequenceState state = SequenceState::kWaiting;
  std::uint64_t order = 0;       ///< of arrival; rising
  std::vector<TokenId> tokens;   ///< prompt, then output (resumed ones first)
  std::vector<TokenId> end_ids;  ///< tokens that end this request; masked until min_tokens are out
  TokenCounts counts;            ///< of `tokens`, where spec.rules count; the sampler's
  std::shared_ptr<PromptScores> scores;  ///< until they are sent; null: nobody asked
  std::vector<double> pooled;            ///< [width] sums so far, where spec.pooling wants them
  /// Where the output stands in spec.rules' grammar, if there is one. It follows each token as it
  /// is added, so that neither preemption nor recomputation touches it.
  std::optional<grammar::GrammarState> grammar = {};
  bool off_grammar = false;  ///< a resumed token that the grammar does not allow
  std::int32_t prompt_count = 0;
  std::int32_t computed = 0;
  std::int32_t cached_tokens = 0;  ///< prompt tokens found in the cache when first started
  bool started = false;            ///< has run before
  TimePoint first_scheduled{};     ///< when
  std::int32_t lost_tokens = 0;    ///< computed when preempted; 0 unless waiting to resume

  // While it waits.
  WaitingLine::Flow* flow = nullptr;  ///< pays for it, from arrival to end
  std::int32_t demand = 0;            ///< its part of the tokens that wait; 0 while it runs
  std::int32_t overtaken = 0;         ///< starts of others since it did not fit
  std::uint64_t refused_step = 0;     ///< the step in which it did not fit
  std::uint64_t search_step = 0;      ///< that last found no room after a look-up; 0: none did
  std::int32_t search_known = 0;      ///< tokens that were known then
  std::int32_t search_needed = 0;     ///< and idle blocks that it would have taken
  std::uint64_t looked_step = 0;      ///< the step in which it was next
  std::int32_t missing = 0;           ///< tokens to be computed, as seen then

  // While it runs.
  std::int32_t shared_blocks = 0;  ///< held at its start: others may hold them too
  std::int32_t granted = 0;        ///< tokens of the step that is planned
  std::uint64_t last_step = 0;     ///< the step that last served it
  std::uint64_t turn = 0;          ///< of that grant, over all sequences

  // Shared prompts (follow.cc). A follower starts when its leader has computed so many tokens.
  Sequence* leader = nullptr;
  std::int32_t leader_tokens = 0;
  bool forks = false;  ///< the leader is its parent: its blocks are shared, not found again
  std::int32_t waits_left = 4;       ///< how often it may still wait for others' heads
  std::vector<Sequence*> followers;  ///< waiting ones, in order of arrival
  bool leads = false;                ///< a prefill that others can find (shared_heads.h)
};

/// Those with keys and values.
inline std::span<const TokenId> computed_tokens(const Sequence& sequence) {
  return std::span(sequence.tokens).first(static_cast<std::size_t>(sequence.computed));
}

/// What the sampler made of one row of logits.
struct SampledToken {
  TokenId token = 0;
  float logprob = 0;                            ///< only when asked for
  std::vector<TokenLogprob> top_logprobs = {};  ///< only when asked for
  std::string error = {};                       ///< not empty: the row was unusable and says why
  bool forbidden = false;  ///< `error` is that the request itself forbids every token
};

/// Whether `token` ends the sequence.
bool is_end(const Sequence& sequence, TokenId token);

/// Follows a token that was added to the output through the grammar.
void follow_grammar(Sequence& sequence, TokenId token);

/// Why a sequence is complete after its last output token, if it is: a stop token, or a
/// grammar after whose end nothing may come, wins over length.
std::optional<FinishReason> completed(const Sequence& sequence, std::int32_t context_max);

}  // namespace kantha::sched
