#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/api/generation_fields.h"

/// POST /v1/completions from JSON to a checked struct. Pure; any thread.
namespace kantha::api {

/// max_tokens when the client says nothing, as OpenAI has it; less where the window ends earlier.
inline constexpr std::int32_t kCompletionMaxTokensDefault = 16;

/// A prompt as text, or as ids within the vocabulary (at least one).
using CompletionPrompt = std::variant<std::string, std::vector<TokenId>>;

/// One completion request: 1 … 64 prompts, each of which becomes one choice with its own index.
struct CompletionRequest {
  GenerationFields fields;
  std::vector<CompletionPrompt> prompts;
  std::int64_t text_bytes = 0;   ///< of all textual prompts, to estimate their tokens
  std::int64_t token_count = 0;  ///< of all prompts given as ids
};

/// Reads the body's object. kInvalidArgument or kUnimplemented with the path of the first bad
/// field.
Result<CompletionRequest> read_completion_request(const Json& body, const RequestLimits& limits);

}  // namespace kantha::api
