#pragma once

#include <string_view>

#include "base/net/task.h"

#include "base/net/http_server.h"
#include "engine/serve/serve_state.h"

/// The server's table of routes. Paths match byte for byte: no decoding, no trailing slash, no case
/// folding, so that no alias reaches a guarded handler. HEAD works where GET does.
namespace kantha::serve {

/// Where a connection came in; the Unix socket's owner is trusted with /admin.
enum class Door { kTcp, kUnix };

/// Answers one request: 404 and 405 (with Allow) as error objects, else the route's handler. Counts
/// it in kantha_http_requests_total. I/O thread.
net::Task<void> answer_request(ServeState* state, Door door, net::HttpRequest request,
                               net::ResponseWriter& writer);

/// Makes every route's series of kantha_http_requests_total.
void open_routes(EngineMetrics& metrics);

/// The handlers, by file.
using Handler = net::Task<void> (*)(ServeState* state, net::HttpRequest request,
                                    net::ResponseWriter& writer);

net::Task<void> get_health(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_live(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_ready(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_startup(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_version(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_metrics(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_models(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_model(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_chat_completions(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_completions(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_embeddings(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_responses(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_messages(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_count_tokens(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_ollama_chat(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_ollama_generate(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_ollama_show(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_ollama_tags(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_ollama_version(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_infill(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_tokenizer_info(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_tokenize(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_detokenize(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> get_admin_state(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_admin_drain(ServeState*, net::HttpRequest, net::ResponseWriter&);
net::Task<void> post_admin_shutdown(ServeState*, net::HttpRequest, net::ResponseWriter&);

}  // namespace kantha::serve
