#pragma once

#include "base/json.h"
#include "base/result.h"
#include "engine/api/translated_request.h"

/// Anthropic's POST /v1/messages and /v1/messages/count_tokens. Pure; any thread.
namespace kantha::api {

/// `system` comes first, tool results before the text of their message; thinking of earlier turns
/// is dropped, as the API itself does. `max_tokens` is a bound: what the window does not hold is
/// taken off it.
Result<TranslatedRequest> read_messages_request(const Json& body, const RequestLimits& limits);

/// The same without max_tokens.
Result<TranslatedRequest> read_count_tokens_request(const Json& body, const RequestLimits& limits);

}  // namespace kantha::api
