#pragma once

#include "base/json.h"
#include "base/result.h"
#include "engine/api/translated_request.h"

/// llama-server's POST /infill: what stands between a prefix and a suffix. Pure; any thread.
namespace kantha::api {

Result<TranslatedRequest> read_infill_request(const Json& body, const RequestLimits& limits);

}  // namespace kantha::api
