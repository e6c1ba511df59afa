#include <utility>

#include "engine/api/embedding_answer.h"
#include "engine/api/infill_answer.h"
#include "engine/api/infill_request.h"
#include "engine/api/messages_answer.h"
#include "engine/api/messages_request.h"
#include "engine/api/ollama_answer.h"
#include "engine/api/ollama_request.h"
#include "engine/api/responses_answer.h"
#include "engine/api/responses_request.h"
#include "engine/serve/answers.h"
#include "engine/serve/generation.h"
#include "engine/serve/prepare.h"
#include "engine/serve/routes.h"

namespace kantha::serve {
namespace {

/// Counts a request while it is answered; the drain waits for these.
class Counted {
 public:
  explicit Counted(ServeState& state) : state_(state) { ++state_.generations; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --state_.generations; }

 private:
  ServeState& state_;
};

net::Task<void> run_or_refuse(ServeState* state, const api::AnswerApi* answers,
                              Result<GenerationJob> job, net::ResponseWriter& writer) {
  if (!job.ok()) {
    Error error = std::move(job).error();
    co_await refuse_generation(state, answers, std::move(error), writer);
    co_return;
  }
  GenerationJob ready = std::move(job).value();
  co_await run_generation(state, std::move(ready), writer);
}

using Prepare = net::Task<Result<GenerationJob>> (*)(ServeState* state, std::string body,
                                                     net::ResponseWriter& writer);

/// A request of OpenAI's older APIs, each of which is prepared in its own way.
net::Task<void> serve(ServeState* state, Prepare prepare, const api::AnswerApi* answers,
                      net::HttpRequest request, net::ResponseWriter& writer) {
  const Counted counted(*state);
  Result<GenerationJob> job = co_await prepare(state, std::move(request.body), writer);
  co_await run_or_refuse(state, answers, std::move(job), writer);
}

/// A request of another API.
net::Task<void> generate(ServeState* state, api::RequestReader reader,
                         const api::AnswerApi* answers, net::HttpRequest request,
                         net::ResponseWriter& writer) {
  const Counted counted(*state);
  Result<GenerationJob> job =
      co_await prepare_translated(state, reader, answers, std::move(request.body), writer);
  co_await run_or_refuse(state, answers, std::move(job), writer);
}

}  // namespace

net::Task<void> post_chat_completions(ServeState* state, net::HttpRequest request,
                                      net::ResponseWriter& writer) {
  return serve(state, &prepare_chat, &api::kOpenAiAnswers, std::move(request), writer);
}

net::Task<void> post_completions(ServeState* state, net::HttpRequest request,
                                 net::ResponseWriter& writer) {
  return serve(state, &prepare_completion, &api::kOpenAiAnswers, std::move(request), writer);
}

net::Task<void> post_embeddings(ServeState* state, net::HttpRequest request,
                                net::ResponseWriter& writer) {
  return serve(state, &prepare_embedding, &api::kEmbeddingAnswers, std::move(request), writer);
}

net::Task<void> post_responses(ServeState* state, net::HttpRequest request,
                               net::ResponseWriter& writer) {
  return generate(state, &api::read_responses_request, &api::kResponsesAnswers, std::move(request),
                  writer);
}

net::Task<void> post_messages(ServeState* state, net::HttpRequest request,
                              net::ResponseWriter& writer) {
  return generate(state, &api::read_messages_request, &api::kMessagesAnswers, std::move(request),
                  writer);
}

net::Task<void> post_ollama_chat(ServeState* state, net::HttpRequest request,
                                 net::ResponseWriter& writer) {
  return generate(state, &api::read_ollama_chat, &api::kOllamaChatAnswers, std::move(request),
                  writer);
}

net::Task<void> post_ollama_generate(ServeState* state, net::HttpRequest request,
                                     net::ResponseWriter& writer) {
  return generate(state, &api::read_ollama_generate, &api::kOllamaGenerateAnswers,
                  std::move(request), writer);
}

net::Task<void> post_infill(ServeState* state, net::HttpRequest request,
                            net::ResponseWriter& writer) {
  return generate(state, &api::read_infill_request, &api::kInfillAnswers, std::move(request),
                  writer);
}

}  // namespace kantha::serve
