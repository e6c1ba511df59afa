#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"

/// What one generation request asks of the engine; plain data, no JSON and no text.
namespace kantha::sched {

/// Sampling of one request. Defaults are OpenAI's.
struct SamplingParams {
  float temperature = 1.0F;  ///< 0 … 2; below 1e-5 means greedy
  float top_p = 1.0F;        ///< (0, 1]
  std::int32_t top_k = 0;    ///< 0 = all
  float min_p = 0.0F;        ///< [0, 1)
  std::uint64_t seed = 0;    ///< always set: the client's, or entropy drawn at the door
  std::int32_t logprobs = -1;  ///< -1 none; n ≥ 0: the chosen token's and the n best
};

/// One request, ready to run.
struct GenerateSpec {
  RequestId id;
  std::vector<TokenId> prompt;  ///< at least one token
  /// Output tokens that the client has already seen (kantha.resume); they count as output.
  std::vector<TokenId> resumed = {};
  SamplingParams sampling;
  std::int32_t max_tokens = 0;  ///< ≥ 1, resumed ones included; prompt + max_tokens ≤ window
  std::int32_t min_tokens = 0;  ///< end tokens are masked until so many are out
  std::vector<TokenId> stop_token_ids = {};  ///< in addition to the model's end tokens
  bool ignore_eos = false;
  TimePoint arrived{};
};

}  // namespace kantha::sched
