#pragma once

#include <string>

#include "base/net/task.h"

#include "base/json.h"
#include "base/result.h"
#include "engine/serve/generation_job.h"
#include "engine/serve/serve_state.h"

/// From a request's body to a job: everything that can refuse a request before the engine sees it,
/// cheapest first: phase, JSON, fields, model name, queue limits on an estimate, then template and
/// tokenizer on the text worker. I/O thread.
namespace kantha::serve {

net::Task<Result<GenerationJob>> prepare_chat(ServeState* state, std::string body);
net::Task<Result<GenerationJob>> prepare_completion(ServeState* state, std::string body);

/// Parses a body; on the text worker when it is large.
net::Task<Result<Json>> read_body(ServeState* state, std::string body);

/// The model when it is loaded, else model_loading.
Result<std::shared_ptr<const ServedModel>> loaded_model(const ServeState& state);

/// Success when `asked` is empty or the served name; else 404 model_not_found.
Status check_model_name(const ServedModel& model, const std::string& asked);

/// What a body is checked against.
api::RequestLimits request_limits(const ServedModel& model);

}  // namespace kantha::serve
