#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cache/sequence_blocks.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/token_event.h"

/// One request while the engine works on it.
namespace kantha::sched {

enum class SequenceState : std::uint8_t {
  kWaiting,  ///< holds no blocks
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

  GenerateSpec spec;  ///< prompt and resumed have moved into `tokens`
  std::shared_ptr<EventSink> sink;
  cache::SequenceBlocks blocks;
  SequenceState state = SequenceState::kWaiting;
  std::uint64_t order = 0;       ///< of arrival; rising
  std::vector<TokenId> tokens;   ///< prompt, then output (resumed ones first)
  std::vector<TokenId> end_ids;  ///< tokens that end this request; masked until min_tokens are out
  std::int32_t prompt_count = 0;
  std::int32_t computed = 0;
  std::int32_t cached_tokens = 0;  ///< prompt tokens found in the cache when first started
  bool started = false;            ///< has run before
  TimePoint first_scheduled{};     ///< when
  std::int32_t lost_tokens = 0;    ///< computed when preempted; 0 unless waiting to resume
};

/// What the sampler made of one row of logits.
struct SampledToken {
  TokenId token = 0;
  float logprob = 0;                            ///< only when asked for
  std::vector<TokenLogprob> top_logprobs = {};  ///< only when asked for
  std::string error = {};                       ///< not empty: the row was unusable and says why
};

/// Why a sequence is complete after its last output token, if it is: a stop token wins over length.
std::optional<FinishReason> completed(const Sequence& sequence, std::int32_t context_max);

}  // namespace kantha::sched
