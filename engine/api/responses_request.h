#pragma once

#include "base/json.h"
#include "base/result.h"
#include "engine/api/translated_request.h"

/// OpenAI's POST /v1/responses without state: nothing is stored, so that what refers to something
/// stored (previous_response_id, conversation, item references, stored prompts) is refused by name.
/// Pure; any thread.
namespace kantha::api {

/// `told` holds the request's fields that the response object repeats.
Result<TranslatedRequest> read_responses_request(const Json& body, const RequestLimits& limits);

}  // namespace kantha::api
