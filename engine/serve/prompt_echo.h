#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/api/reply.h"
#include "engine/sched/prompt_scores.h"
#include "engine/text/tokenizer.h"

/// What an answer tells of its own prompt. Pure; any thread.
namespace kantha::serve {

/// Text of one token of a prompt: control tokens are spelled, since the prompt shows them.
std::string prompt_token_text(const text::Tokenizer& tokenizer, TokenId id);

/// The prompt's tokens as the text API's logprobs have them, with the best `top` of each.
std::vector<api::ScoredToken> prompt_tokens(const text::Tokenizer& tokenizer,
                                            std::span<const TokenId> prompt,
                                            const sched::PromptScores& scores, std::int32_t top);

/// Where the first of those tokens begins in an answer that starts with `text`, in characters:
/// below 0 when the tokens say more than the text (a BOS, a leading space).
std::int64_t prompt_offset(const text::Tokenizer& tokenizer, std::span<const TokenId> prompt,
                           const std::string& text);

/// The prompt's tokens as vLLM's prompt_logprobs has them, with the best `top` of each.
std::vector<api::PromptPlace> prompt_places(const text::Tokenizer& tokenizer,
                                            std::span<const TokenId> prompt,
                                            const sched::PromptScores& scores, std::int32_t top);

}  // namespace kantha::serve
