#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/api/chat_request.h"
#include "engine/api/completion_request.h"
#include "engine/serve/served_model.h"

/// From checked requests to token ids; runs on the text worker, since it takes as long as the text
/// is.
namespace kantha::serve {

/// A conversation through the model's template. kInvalidArgument (field "messages") with the
/// template's own words, or when the model has no template or the prompt is empty, or when its text
/// cannot have as few as `tokens_max` tokens: then without the seconds that tokenizing would take.
Result<std::vector<TokenId>> chat_prompt(const ServedModel& model, const api::ChatRequest& request,
                                         std::int32_t tokens_max);

/// A text as it is, control tokens included; the model's BOS first if it wants one and `with_bos`.
std::vector<TokenId> text_prompt(const ServedModel& model, const std::string& text, bool with_bos);

/// All prompts of a completion request. kInvalidArgument names the prompt that has no tokens, or
/// so much text that it cannot fit the window.
Result<std::vector<std::vector<TokenId>>> completion_prompts(const ServedModel& model,
                                                             const api::CompletionRequest& request);

/// Bad words as the token sequences that would write them: at the start of a text and after a
/// space, where that makes a difference.
std::vector<std::vector<TokenId>> bad_word_tokens(const ServedModel& model,
                                                  const std::vector<std::string>& words);

}  // namespace kantha::serve
