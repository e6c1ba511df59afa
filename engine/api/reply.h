#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/api/request_support.h"
#include "engine/dialect/parsed.h"

/// What an answer is made of, before it becomes JSON. Plain data.
namespace kantha::api {

/// What every chunk of one answer repeats.
struct ReplyHead {
  ApiKind api = ApiKind::kChat;
  std::string id;            ///< "chatcmpl-…" or "cmpl-…"
  std::int64_t created = 0;  ///< Unix seconds
  std::string model;
  std::string fingerprint;  ///< which build and configuration answered
};

/// A candidate's log-probability under the raw distribution (before temperature and top-p).
struct Candidate {
  std::string bytes;   ///< the token's raw bytes; "" for control tokens
  double logprob = 0;  ///< ≤ 0; -infinity and NaN are written as -9999
};

/// One token with its probabilities.
struct ScoredToken {
  Candidate chosen;
  std::vector<Candidate> top = {};  ///< best first
  bool scored = true;               ///< false: the first token of a prompt, which has none
};

/// One candidate for a place in the prompt, as vLLM tells them.
struct PromptCandidate {
  TokenId token = 0;
  Candidate value;
  std::int32_t rank = 1;  ///< 1: nothing is more likely
};
/// The candidates of one place, the prompt's own token first; none for the first place.
using PromptPlace = std::vector<PromptCandidate>;

/// A stretch of one choice's answer.
struct Delta {
  std::int32_t index = 0;  ///< which choice
  std::string text = {};
  std::string reasoning = {};                  ///< chat only
  std::vector<dialect::CallDelta> calls = {};  ///< chat only; at most one entry of a call
  std::vector<ScoredToken> scores =
      {};                               ///< of its tokens; used when the request asked for logprobs
  std::vector<TokenId> token_ids = {};  ///< of its tokens; used when the request asked for ids
};

/// A whole choice.
struct Choice {
  Delta answer;
  std::string finish_reason;  ///< "stop", "length" or "tool_calls"
  std::shared_ptr<const std::vector<double>> pooled_states = {};  ///< of an embedding request
  std::string stop_string = {};                                   ///< the client's, which ended it
  std::optional<std::vector<PromptPlace>> prompt_logprobs = {};
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< prompt tokens that the prefix cache saved
  /// Completion tokens that were reasoning; absent where reasoning is not told apart.
  std::optional<std::int64_t> reasoning_tokens = {};
};

/// "chatcmpl-" or "cmpl-" and 24 hexadecimal digits of the two words.
std::string reply_id(ApiKind api, std::uint64_t entropy_high, std::uint64_t entropy_low);

}  // namespace kantha::api
