#include "engine/serve/prepare.h"

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "base/rng.h"
#include "engine/api/chat_request.h"
#include "engine/api/completion_request.h"
#include "engine/api/openai_error.h"
#include "engine/serve/prompt.h"

namespace kantha::serve {
namespace {

/// Seeds that nobody asked for stay below 2^53, so that every JSON reader can hand them back
/// unchanged.
constexpr std::uint64_t kSeedMask = (std::uint64_t{1} << 53) - 1;

using Prompts = std::vector<std::vector<TokenId>>;

/// Set when the client leaves; shared with the worker that may not have begun yet.
using Departure = std::shared_ptr<std::atomic<bool>>;

Departure watch_client(net::ResponseWriter& writer) {
  auto gone = std::make_shared<std::atomic<bool>>(false);
  writer.on_client_gone([gone] { gone->store(true); });
  return gone;
}

/// Counts a request and its estimate as in preparation while it lives.
class Preparation {
 public:
  Preparation(ServeState& state, std::int64_t tokens) : state_(state), tokens_(tokens) {
    state_.tokens_in_preparation += tokens_;
    ++state_.requests_in_preparation;
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() {
    state_.tokens_in_preparation -= tokens_;
    --state_.requests_in_preparation;
  }

 private:
  ServeState& state_;
  const std::int64_t tokens_;
};

GenerationJob make_job(api::ApiKind kind, api::GenerationFields fields,
                       std::shared_ptr<const ServedModel> model, TimePoint arrived) {
  GenerationJob job;
  job.api = kind;
  job.fields = std::move(fields);
  job.model = std::move(model);
  job.arrived = arrived;
  if (!job.fields.seed) job.fields.seed = static_cast<std::int64_t>(entropy_seed() & kSeedMask);
  return job;
}

Status check_queue(ServeState& state, const ServedModel& model, std::int64_t tokens) {
  return model.engine->precheck({.prompt_tokens = tokens,
                                 .tokens_ahead = state.tokens_in_preparation,
                                 .requests_ahead = state.requests_in_preparation});
}

/// A request's JSON as a checked struct. A large body is parsed and read on the bulk worker, and
/// only if the queue has room at all.
template <class Request, class Read>
net::Task<Result<Request>> read_request(ServeState* state, std::shared_ptr<const ServedModel> model,
                                        std::string body, Read read) {
  const api::RequestLimits limits = request_limits(*model);
  std::optional<Result<Request>> request;
  std::function<void()> work = [&body, &request, &limits, read] {
    const auto json = parse_json(body);
    if (json.ok()) {
      request.emplace(read(*json, limits));
    } else {
      request.emplace(json.error());
    }
  };
  if (body.size() <= kQuickBytesMax) {
    work();
  } else {
    CO_TRY_OK(check_queue(*state, *model, 1));
    co_await state->bulk_worker.run(std::move(work));
  }
  co_return std::move(*request);
}

/// What the tokenizer is to do, and for whom.
struct TextWork {
  std::int64_t text_bytes = 0;
  std::int64_t token_count = 0;  ///< given as ids
  Departure gone;
  TimePoint arrived{};
};

/// Runs `make_prompts` on a text worker, if the engine would queue so many tokens at all.
net::Task<Result<Prompts>> prompts_within_limits(ServeState* state,
                                                 std::shared_ptr<const ServedModel> model,
                                                 const api::GenerationFields* fields, TextWork text,
                                                 std::function<Result<Prompts>()> make_prompts) {
  const std::int64_t estimate = state->token_estimate.tokens(text.text_bytes) + text.token_count;
  CO_TRY_OK(check_queue(*state, *model, estimate));
  const Preparation counted(*state, estimate);
  const auto deadline = deadline_of(*fields, text.arrived);
  const Clock& clock = state->clock;
  std::optional<Result<Prompts>> prompts;
  std::function<void()> work = [&] {
    if (text.gone->load()) {
      prompts.emplace(Error{.code = Code::kCancelled, .message = "the client left"});
    } else if (deadline && clock.now() >= *deadline) {
      prompts.emplace(deadline_passed(*fields));
    } else {
      prompts.emplace(make_prompts());
    }
  };
  net::WorkerPool& worker = state->worker_for(static_cast<std::size_t>(text.text_bytes));
  co_await worker.run(std::move(work));
  if (prompts->ok()) {
    std::int64_t tokens = -text.token_count;
    for (const auto& prompt : **prompts) tokens += static_cast<std::int64_t>(prompt.size());
    state->token_estimate.learn(text.text_bytes, tokens);
    if (text.gone->load()) co_return Error{.code = Code::kCancelled, .message = "the client left"};
    if (deadline && clock.now() >= *deadline) co_return deadline_passed(*fields);
  }
  co_return std::move(*prompts);
}

}  // namespace

Result<std::shared_ptr<const ServedModel>> loaded_model(const ServeState& state) {
  if (state.model) return state.model;
  Error error = unavailable("the model is loading: " + state.phase.step());
  error.reason = api::kReasonLoading;
  error.retry_after_ms = 1000;
  return error;
}

Status check_model_name(const ServedModel& model, const std::string& asked) {
  if (asked.empty() || asked == model.name) return ok_status();
  Error error = not_found("model: \"" + asked.substr(0, 200) + "\" is not served here; \"" +
                          model.name + "\" is");
  error.field = "model";
  error.reason = api::kReasonModelNotFound;
  return error;
}

api::RequestLimits request_limits(const ServedModel& model) {
  const gateway::EngineLimits limits = model.engine->limits();
  return {.vocabulary_size = limits.vocabulary_size, .context_max = limits.context_max};
}

net::Task<Result<GenerationJob>> prepare_chat(ServeState* state, std::string body,
                                              net::ResponseWriter& writer) {
  const TimePoint arrived = state->clock.now();
  CO_TRY_OK(state->phase.admit());
  CO_TRY(auto model, loaded_model(*state));
  const Departure gone = watch_client(writer);
  CO_TRY(api::ChatRequest request, co_await read_request<api::ChatRequest>(
                                       state, model, std::move(body), &api::read_chat_request));
  CO_TRY_OK(check_model_name(*model, request.fields.model));
  std::function<Result<Prompts>()> make = [&model, &request]() -> Result<Prompts> {
    TRY(std::vector<TokenId> prompt,
        chat_prompt(*model, request, model->engine->limits().context_max));
    return Prompts{std::move(prompt)};
  };
  TextWork text{.text_bytes = request.content_bytes, .gone = gone, .arrived = arrived};
  CO_TRY(Prompts prompts, co_await prompts_within_limits(state, model, &request.fields,
                                                         std::move(text), std::move(make)));
  GenerationJob job =
      make_job(api::ApiKind::kChat, std::move(request.fields), std::move(model), arrived);
  job.prompts = std::move(prompts);
  co_return job;
}

net::Task<Result<GenerationJob>> prepare_completion(ServeState* state, std::string body,
                                                    net::ResponseWriter& writer) {
  const TimePoint arrived = state->clock.now();
  CO_TRY_OK(state->phase.admit());
  CO_TRY(auto model, loaded_model(*state));
  const Departure gone = watch_client(writer);
  CO_TRY(api::CompletionRequest request,
         co_await read_request<api::CompletionRequest>(state, model, std::move(body),
                                                       &api::read_completion_request));
  CO_TRY_OK(check_model_name(*model, request.fields.model));
  std::function<Result<Prompts>()> make = [&model, &request] {
    return completion_prompts(*model, request);
  };
  TextWork text{.text_bytes = request.text_bytes,
                .token_count = request.token_count,
                .gone = gone,
                .arrived = arrived};
  CO_TRY(Prompts prompts, co_await prompts_within_limits(state, model, &request.fields,
                                                         std::move(text), std::move(make)));
  GenerationJob job =
      make_job(api::ApiKind::kCompletion, std::move(request.fields), std::move(model), arrived);
  job.prompts = std::move(prompts);
  co_return job;
}

}  // namespace kantha::serve
