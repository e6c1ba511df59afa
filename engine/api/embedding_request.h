#pragma once

#include <cstdint>

#include "base/json.h"
#include "base/result.h"
#include "engine/api/completion_request.h"

/// POST /v1/embeddings. Pure; any thread.
namespace kantha::api {

/// Inputs are prompts, of which nothing is generated.
struct EmbeddingRequest : CompletionRequest {
  bool of_last = false;  ///< the last token's hidden state instead of the mean of all
  bool base64 = false;   ///< encoding_format
};

/// `input` as OpenAI has it: a text, texts, token ids or arrays of those, up to 64. `pooling` (mean
/// or last) is ours; `dimensions` is refused, since a shortened vector of a model that was not
/// trained for it means nothing.
Result<EmbeddingRequest> read_embedding_request(const Json& body, const RequestLimits& limits);

}  // namespace kantha::api
