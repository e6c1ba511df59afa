#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"

/// Prompts whose answers must not change, and what the answers are. Pure; any thread.
///
///   {"timeout_seconds": 30, "prompts": [
///     {"prompt": "Once upon", "max_tokens": 8, "token_ids": [253, 655],
///      "logprobs": [-0.51, -2.25], "logprob_tolerance": 0.05},
///     {"prompt": "2 + 2 =", "max_tokens": 4, "text": " 4"}]}
///
/// Asked greedily; compared by token ids where the set has them, else by text, exactly. Equal
/// tokens may have become less sure: where the set has their log-probabilities, each may differ by
/// the tolerance.
namespace kantha::noded {

struct GoldenPrompt {
  std::string prompt;
  std::int64_t max_tokens = 16;
  std::optional<std::vector<TokenId>> token_ids;
  std::optional<std::string> text;
  std::vector<double> logprobs;  ///< of each token; empty: not compared
  double logprob_tolerance = 0.05;
};

struct GoldenSet {
  Duration timeout = std::chrono::seconds(30);  ///< for one answer
  std::vector<GoldenPrompt> prompts;            ///< 1 to 64
};

inline constexpr std::size_t kGoldenBytesMax = std::size_t{1} << 20;

/// kInvalidArgument with the field's path: no such file, no prompt, none or both of token_ids and
/// text, log-probabilities without token ids or of another count, numbers out of range.
Result<GoldenSet> golden_set_from_json(std::string_view text);

/// Body of the completion request for one prompt.
std::string golden_request(const GoldenPrompt& prompt, const std::string& model);

/// How an answer differs from what it must be; empty: it does not.
std::string golden_difference(const GoldenPrompt& prompt, int status, std::string_view body);

}  // namespace kantha::noded
