#include "engine/serve/routes.h"

#include <array>
#include <string>
#include <utility>

#include "engine/api/messages_answer.h"
#include "engine/api/ollama_answer.h"
#include "engine/api/openai_error.h"
#include "engine/serve/admin_guard.h"
#include "engine/serve/answers.h"

namespace kantha::serve {
namespace {

enum class Access { kOpen, kAdmin };

struct Route {
  std::string_view method;  ///< GET covers HEAD
  std::string_view path;    ///< a trailing '*' takes any rest that is not empty
  Handler handler;
  Access access = Access::kOpen;
  const api::AnswerApi* api = &api::kOpenAiAnswers;  ///< whose errors it has
};

/// A route of an API with errors of its own.
constexpr Route route_of(const api::AnswerApi& api, std::string_view method, std::string_view path,
                         Handler handler) {
  return {method, path, handler, Access::kOpen, &api};
}

constexpr std::array kRoutes{
    Route{"GET", "/health", get_health},
    Route{"GET", "/live", get_live},
    Route{"GET", "/ready", get_ready},
    Route{"GET", "/startup", get_startup},
    Route{"GET", "/version", get_version},
    Route{"GET", "/metrics", get_metrics},
    Route{"GET", "/v1/models", get_models},
    Route{"GET", "/v1/models/*", get_model},
    Route{"POST", "/v1/chat/completions", post_chat_completions},
    Route{"POST", "/v1/completions", post_completions},
    Route{"POST", "/v1/embeddings", post_embeddings},
    Route{"POST", "/v1/responses", post_responses},
    route_of(api::kMessagesAnswers, "POST", "/v1/messages", post_messages),
    route_of(api::kMessagesAnswers, "POST", "/v1/messages/count_tokens", post_count_tokens),
    route_of(api::kOllamaChatAnswers, "POST", "/api/chat", post_ollama_chat),
    route_of(api::kOllamaChatAnswers, "POST", "/api/generate", post_ollama_generate),
    route_of(api::kOllamaChatAnswers, "POST", "/api/show", post_ollama_show),
    route_of(api::kOllamaChatAnswers, "GET", "/api/tags", get_ollama_tags),
    route_of(api::kOllamaChatAnswers, "GET", "/api/version", get_ollama_version),
    Route{"POST", "/infill", post_infill},
    Route{"GET", "/tokenizer_info", get_tokenizer_info},
    Route{"POST", "/tokenize", post_tokenize},
    Route{"POST", "/detokenize", post_detokenize},
    Route{"GET", "/admin/v1/state", get_admin_state, Access::kAdmin},
    Route{"POST", "/admin/v1/drain", post_admin_drain, Access::kAdmin},
    Route{"POST", "/admin/v1/shutdown", post_admin_shutdown, Access::kAdmin},
};

bool matches(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path;
  pattern.remove_suffix(1);
  return path.starts_with(pattern) && path.size() > pattern.size();
}

const Route* find_route(std::string_view path) {
  for (const Route& route : kRoutes) {
    if (matches(route.path, path)) return &route;
  }
  return nullptr;
}

/// Passes everything on and remembers the status for the metrics.
class CountingWriter final : public net::ResponseWriter {
 public:
  explicit CountingWriter(net::ResponseWriter& inner) : inner_(inner) {}
  net::Task<Status> send(net::HttpResponse response) override {
    status_ = response.status;
    return inner_.send(std::move(response));
  }
  net::Task<Status> start(int status, net::Headers headers) override {
    status_ = status;
    return inner_.start(status, std::move(headers));
  }
  net::Task<Status> write(std::string bytes) override { return inner_.write(std::move(bytes)); }
  net::Task<Status> finish() override { return inner_.finish(); }
  void abort() override { inner_.abort(); }
  bool started() const override { return inner_.started(); }
  bool client_gone() const override { return inner_.client_gone(); }
  void on_client_gone(std::function<void()> callback) override {
    inner_.on_client_gone(std::move(callback));
  }
  /// 499, as proxies write it, when the client left before an answer.
  int status() const { return status_ == 0 ? 499 : status_; }

 private:
  net::ResponseWriter& inner_;
  int status_ = 0;
};

net::Task<void> send_wrong_method(net::ResponseWriter& writer, const Route* route) {
  const std::string allow = route->method == "GET" ? "GET, HEAD" : std::string(route->method);
  Error error = invalid_argument("this path takes " + allow);
  error.reason = api::kReasonMethodNotAllowed;
  const api::HttpError answer = api::error_of(*route->api, error);
  net::HttpResponse response{.status = answer.status, .body = answer.body};
  response.headers.set("Content-Type", "application/json");
  response.headers.set("Allow", allow);
  const Status sent = co_await writer.send(std::move(response));
  (void)sent.ok();
}

net::Task<void> dispatch(ServeState* state, Door door, const Route* route, net::HttpRequest request,
                         net::ResponseWriter& writer) {
  if (route == nullptr) {
    Error error = not_found("no such path");
    co_await send_error(writer, std::move(error));
    co_return;
  }
  if (route->access == Access::kAdmin) {
    Status allowed = check_admin(door, state->admin_token, request.headers);
    if (!allowed.ok()) {
      Error error = std::move(allowed).error();
      co_await send_error(writer, std::move(error));
      co_return;
    }
  }
  const bool head = request.method == "HEAD" && route->method == "GET";
  if (request.method != route->method && !head) {
    co_await send_wrong_method(writer, route);
    co_return;
  }
  co_await route->handler(state, std::move(request), writer);
}

}  // namespace

void open_routes(EngineMetrics& metrics) {
  for (const Route& route : kRoutes) metrics.open_route(route.path);
}

net::Task<void> answer_request(ServeState* state, Door door, net::HttpRequest request,
                               net::ResponseWriter& writer) {
  const Route* route = find_route(request.path());
  CountingWriter counting(writer);
  co_await dispatch(state, door, route, std::move(request), counting);
  state->metrics.count_http(route != nullptr ? route->path : "other", counting.status());
}

}  // namespace kantha::serve
