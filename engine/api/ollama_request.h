#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "engine/api/translated_request.h"

/// Ollama's POST /api/chat, /api/generate and /api/show. Streams unless `stream` is false. Where
/// the client says nothing, temperature is 0.8, top_k 40 and top_p 0.9, as there. Pure; any thread.
///
/// `options` that steer their runner (num_ctx, num_gpu, num_thread, …) change nothing here; those
/// that would change the text and that we lack are refused by name. `num_predict` is a bound: what
/// the window does not hold is taken off it, and -1 and -2 mean the window.
namespace kantha::api {

Result<TranslatedRequest> read_ollama_chat(const Json& body, const RequestLimits& limits);
/// `raw` gives the model the prompt as it is, `suffix` asks for what stands between.
Result<TranslatedRequest> read_ollama_generate(const Json& body, const RequestLimits& limits);
/// The name that /api/show asks for.
Result<std::string> read_ollama_show(const Json& body);

}  // namespace kantha::api
