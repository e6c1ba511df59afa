#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/api/request_support.h"

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

/// One output token with its probabilities.
struct ScoredToken {
  Candidate chosen;
  std::vector<Candidate> top = {};  ///< best first
};

/// A stretch of one choice's answer.
struct Delta {
  std::int32_t index = 0;  ///< which choice
  std::string text = {};
  std::vector<ScoredToken> scores =
      {};                               ///< of its tokens; used when the request asked for logprobs
  std::vector<TokenId> token_ids = {};  ///< of its tokens; used when the request asked for ids
};

/// A whole choice.
struct Choice {
  Delta answer;
  std::string finish_reason;  ///< "stop" or "length"
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< prompt tokens that the prefix cache saved
};

/// "chatcmpl-" or "cmpl-" and 24 hexadecimal digits of the two words.
std::string reply_id(ApiKind api, std::uint64_t entropy_high, std::uint64_t entropy_low);

}  // namespace kantha::api
