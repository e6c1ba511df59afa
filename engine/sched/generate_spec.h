#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "engine/sched/logit_rules.h"

/// What one generation request asks of the engine; plain data, no JSON and no text.
namespace kantha::sched {

/// Sampling of one request. Defaults are OpenAI's.
struct SamplingParams {
  float temperature = 1.0F;    ///< 0 … 2; below 1e-5 means greedy
  float top_p = 1.0F;          ///< (0, 1]
  std::int32_t top_k = 0;      ///< 0 = all
  float min_p = 0.0F;          ///< [0, 1)
  float typical_p = 1.0F;      ///< (0, 1]; 1 = all
  std::uint64_t seed = 0;      ///< always set: the client's, or entropy drawn at the door
  std::int32_t logprobs = -1;  ///< -1 none; n ≥ 0: the chosen token's and the n best
};

/// What a request's client waits for; decides its share of the engine (waiting_line.h).
enum class SloClass : std::uint8_t {
  kInteractive,  ///< a person reads along
  kAgent,        ///< a program waits for the whole answer and comes back with more
  kBatch,        ///< nobody waits: what is left over, but never nothing
};

/// Which of a prompt's hidden states (after the last norm) a request wants, added up.
enum class Pooling : std::uint8_t {
  kNone,
  kMean,  ///< all of them; needs prompt_logprobs 0, whose rows they are
  kLast,  ///< the last token's
};

/// One request, ready to run.
struct GenerateSpec {
  RequestId id;
  std::vector<TokenId> prompt;  ///< at least one token
  /// Output tokens that the client has already seen (kantha.resume); they count as output.
  std::vector<TokenId> resumed = {};
  SamplingParams sampling;
  std::shared_ptr<const LogitRules> rules = {};  ///< null: none
  /// -1 none; n ≥ 0: the prompt's own log-probabilities and the n best at each place. Then nothing
  /// of it is taken from the cache, and it is nobody's fork.
  std::int32_t prompt_logprobs = -1;
  Pooling pooling = Pooling::kNone;  ///< else max_tokens is 0
  /// Resumed ones included; prompt + max_tokens ≤ window. 0: the prompt is computed and no more.
  std::int32_t max_tokens = 0;
  std::int32_t min_tokens = 0;               ///< end tokens are masked until so many are out
  std::vector<TokenId> stop_token_ids = {};  ///< in addition to the model's end tokens
  bool ignore_eos = false;
  TimePoint arrived{};

  /// Fair shares are between tenants; "" is one like any other.
  std::string tenant = {};
  SloClass slo = SloClass::kInteractive;
  std::int32_t priority = 0;  ///< lower first, before everything else (as in vLLM)
  /// Ends with FinishReason::kDeadline when it has not finished by then.
  std::optional<TimePoint> deadline = {};
  std::uint64_t salt = 0;  ///< requests of other salts never share cached blocks with this one
  /// A parallel sample (n > 1): this request's prompt is that of the open request `fork_of`, which
  /// was queued before it; its blocks are shared once they are computed.
  std::optional<RequestId> fork_of = {};
};

}  // namespace kantha::sched
