#pragma once

#include <string>

#include "base/net/task.h"

#include "base/net/http_server.h"
#include "base/result.h"
#include "engine/api/answer_writer.h"
#include "engine/serve/serve_state.h"

/// Answers that need the tokenizer or the template and no engine: the whole of it, JSON included,
/// on a text worker, since a body may hold megabytes, and so may its answer. I/O thread.
namespace kantha::serve {

/// From a body to the answer's; runs on a worker.
using PageMaker = Result<std::string> (*)(const ServedModel& model, const std::string& body);

/// Answers 200 with JSON, or with the error as `api` has it; a client that leaves is not waited
/// for.
net::Task<void> answer_page(ServeState* state, const api::AnswerApi* api, std::string body,
                            PageMaker make, net::ResponseWriter& writer);

}  // namespace kantha::serve
