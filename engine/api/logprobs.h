#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "engine/api/reply.h"

/// Log-probabilities in the shapes of OpenAI's two APIs. Pure; any thread.
namespace kantha::api {

/// {"content":[{"token","logprob","bytes","top_logprobs":[…]}],"refusal":null}
OrderedJson chat_logprobs(const std::vector<ScoredToken>& scores);

/// {"tokens","token_logprobs","top_logprobs","text_offset"}; the chosen token is always among the
/// top; both are null where a token has none. `offset` is the number of characters before the first
/// token and moves past the last one: a character counts where its first byte is, so that offsets
/// stay right when tokens split characters. One that is below 0, because the first tokens have more
/// text than the answer shows (a BOS, a leading space), is told as 0.
OrderedJson completion_logprobs(const std::vector<ScoredToken>& scores, std::int64_t& offset);

/// [null,{"ID":{"logprob","rank","decoded_token"},…},…], as vLLM has it.
OrderedJson prompt_logprobs(const std::vector<PromptPlace>& places);

/// Characters that begin in these bytes.
std::int64_t count_characters(std::string_view bytes);

}  // namespace kantha::api
