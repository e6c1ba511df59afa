#pragma once

#include <cstddef>
#include <string>

#include "base/net/task.h"

#include "base/net/http_server.h"
#include "base/result.h"
#include "engine/api/translated_request.h"
#include "engine/serve/generation_job.h"
#include "engine/serve/serve_state.h"

/// From a request's body to a job: everything that can refuse a request before the engine sees it,
/// cheapest first: phase, JSON, fields, model name, queue limits on an estimate, then template and
/// tokenizer on a text worker. I/O thread.
///
/// kCancelled when the client left meanwhile, kDeadlineExceeded when the request's time was up:
/// neither's text is tokenised any more once it has its turn.
namespace kantha::serve {

net::Task<Result<GenerationJob>> prepare_chat(ServeState* state, std::string body,
                                              net::ResponseWriter& writer);
net::Task<Result<GenerationJob>> prepare_completion(ServeState* state, std::string body,
                                                    net::ResponseWriter& writer);

/// A request of another API, which `reader` understands and `answers` answers.
net::Task<Result<GenerationJob>> prepare_translated(ServeState* state, api::RequestReader reader,
                                                    const api::AnswerApi* answers, std::string body,
                                                    net::ResponseWriter& writer);

/// Inputs whose hidden states are wanted.
net::Task<Result<GenerationJob>> prepare_embedding(ServeState* state, std::string body,
                                                   net::ResponseWriter& writer);

/// The model when it is loaded, else model_loading.
Result<std::shared_ptr<const ServedModel>> loaded_model(const ServeState& state);

/// Success when `asked` is empty or the served name; else 404 model_not_found.
Status check_model_name(const ServedModel& model, const std::string& asked);

/// What a body is checked against.
api::RequestLimits request_limits(const ServedModel& model);

}  // namespace kantha::serve
