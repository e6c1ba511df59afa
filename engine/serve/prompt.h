#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/api/chat_request.h"
#include "engine/api/completion_request.h"
#include "engine/serve/served_model.h"

/// From checked requests to token ids; runs on the text worker, since it takes as long as the text
/// is.
namespace kantha::serve {

struct ChatPrompt {
  std::vector<TokenId> ids;
  bool opens_reasoning = false;  ///< the answer begins inside of the model's reasoning
};

/// A conversation through the model's template. kInvalidArgument (field "messages") with the
/// template's own words, or when the model has no template or the prompt is empty, or when its text
/// cannot have as few as `tokens_max` tokens: then without the seconds that tokenizing would take.
Result<ChatPrompt> chat_prompt(const ServedModel& model, const api::ChatRequest& request,
                               std::int32_t tokens_max);

/// A text as it is, control tokens included; the model's BOS first if it wants one and `with_bos`.
std::vector<TokenId> text_prompt(const ServedModel& model, const std::string& text, bool with_bos);

/// The same with its BOS, within a window: kInvalidArgument when the prompt is empty or cannot fit.
Result<std::vector<TokenId>> raw_prompt(const ServedModel& model, const std::string& text,
                                        std::int32_t tokens_max);

/// Refuses a text that has more than `tokens_max` tokens however well they cover it. The worker is
/// one thread, and everybody else would wait while it works on megabytes for nothing. `field` is
/// named in the error.
Status check_could_fit(const ServedModel& model, std::size_t bytes, const std::string& field,
                       std::int32_t tokens_max);

/// All prompts of a completion request. kInvalidArgument names the prompt that has no tokens, or
/// so much text that it cannot fit the window.
Result<std::vector<std::vector<TokenId>>> completion_prompts(const ServedModel& model,
                                                             const api::CompletionRequest& request);

/// The same for texts to embed, which end with EOS where the model wants one (`add_eos`); ids stay
/// as they were given.
Result<std::vector<std::vector<TokenId>>> embedding_prompts(const ServedModel& model,
                                                            const api::CompletionRequest& request);

/// The texts of a completion request's prompts as they are echoed: what the client wrote, or what
/// its ids stand for, control tokens included.
std::vector<std::string> prompt_texts(const ServedModel& model,
                                      const api::CompletionRequest& request);

/// Bad words as the token sequences that would write them: at the start of a text and after a
/// space, where that makes a difference.
std::vector<std::vector<TokenId>> bad_word_tokens(const ServedModel& model,
                                                  const std::vector<std::string>& words);

}  // namespace kantha::serve
