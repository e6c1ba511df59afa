#pragma once

#include "base/net/task.h"

#include "base/net/http_server.h"
#include "engine/serve/generation_job.h"
#include "engine/serve/serve_state.h"

namespace kantha::serve {

/// Runs a job at the engine and answers the client, streamed or whole.
///
/// Flow: submit every choice → headers (a refusal is still a real status) → events become deltas
/// until all choices have ended → usage and [DONE]. Guarantees: the engine's work is aborted when
/// the client leaves, reads too slowly, hits a stop string, or the drain's time is up; a stream
/// that fails after its headers ends with one `data: {"error":…}` and no [DONE]; a silent stream
/// carries a comment every keepalive_s. I/O thread.
/// Every choice ends up in the metrics, once.
net::Task<void> run_generation(ServeState* state, GenerationJob job, net::ResponseWriter& writer);
/// Answers a request that does not come to the engine and counts it: as refused, as ended by its
/// deadline, or as aborted by a client that left.
net::Task<void> refuse_generation(ServeState* state, const api::AnswerApi* api, Error error,
                                  net::ResponseWriter& writer);

}  // namespace kantha::serve
