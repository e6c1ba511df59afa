#include "engine/serve/prepare.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/rng.h"
#include "engine/api/chat_request.h"
#include "engine/api/completion_request.h"
#include "engine/api/openai_error.h"
#include "engine/serve/prompt.h"
#include "engine/serve/text_turn.h"

namespace kantha::serve {
namespace {

/// Seeds that nobody asked for stay below 2^53, so that every JSON reader can hand them back
/// unchanged.
constexpr std::uint64_t kSeedMask = (std::uint64_t{1} << 53) - 1;

using Prompts = std::vector<std::vector<TokenId>>;

/// One request on its way to the engine: counted among those in preparation while this lives.
class Preparation {
 public:
  Preparation(ServeState& state, net::ResponseWriter& writer)
      : state_(state),
        arrived_(state.clock.now()),
        turn_(state.text_tasks, state.executor, state.clock, writer) {
    ++state_.requests_in_preparation;
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() {
    --state_.requests_in_preparation;
    state_.tokens_in_preparation -= tokens_;
  }

  TimePoint arrived() const { return arrived_; }
  TextTurn& turn() { return turn_; }
  void set_limit(const api::GenerationFields& fields) {
    const auto deadline = deadline_of(fields, arrived_);
    if (deadline) turn_.set_deadline(*deadline, deadline_passed(fields));
  }
  /// May so many prompt tokens, about, be queued behind those that came before? Counts them if so.
  Status expect(const ServedModel& model, std::int64_t tokens) {
    TRY_OK(model.engine->precheck({.prompt_tokens = tokens,
                                   .tokens_ahead = state_.tokens_in_preparation - tokens_,
                                   .requests_ahead = state_.requests_in_preparation - 1}));
    state_.tokens_in_preparation += tokens - tokens_;
    tokens_ = tokens;
    return ok_status();
  }

 private:
  ServeState& state_;
  const TimePoint arrived_;
  TextTurn turn_;
  std::int64_t tokens_ = 0;
};

/// What text work owns, since it may outlive its request.
template <class Request>
struct Draft {
  std::shared_ptr<const ServedModel> model;
  std::string body;
  std::optional<Result<Request>> request;
  std::optional<Result<Prompts>> prompts;
  std::vector<std::vector<TokenId>> bad_words;
};

template <class Request>
Result<Request> read_fields(const Json& json, const api::RequestLimits& limits);
template <>
Result<api::ChatRequest> read_fields(const Json& json, const api::RequestLimits& limits) {
  return api::read_chat_request(json, limits);
}
template <>
Result<api::CompletionRequest> read_fields(const Json& json, const api::RequestLimits& limits) {
  return api::read_completion_request(json, limits);
}

/// How much a request asks the tokenizer to do.
struct TextSize {
  std::int64_t bytes = 0;
  std::int64_t given_tokens = 0;  ///< of prompts that are ids already
};

TextSize size_of(const api::ChatRequest& request) { return {.bytes = request.content_bytes}; }
TextSize size_of(const api::CompletionRequest& request) {
  return {.bytes = request.text_bytes, .given_tokens = request.token_count};
}

Result<Prompts> prompts_of(const ServedModel& model, const api::ChatRequest& request) {
  TRY(std::vector<TokenId> prompt, chat_prompt(model, request, model.engine->limits().context_max));
  return Prompts{std::move(prompt)};
}
Result<Prompts> prompts_of(const ServedModel& model, const api::CompletionRequest& request) {
  return completion_prompts(model, request);
}

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

/// Parses and checks a request's JSON. A large body has its turn on the bulk worker, and only if
/// the queue has room at all.
template <class Request>
net::Task<Status> read_request(ServeState* state, Preparation* preparation,
                               std::shared_ptr<Draft<Request>> draft) {
  std::function<void()> work = [draft] {
    const auto read = [&]() -> Result<Request> {
      TRY(const Json json, parse_json(draft->body));
      return read_fields<Request>(json, request_limits(*draft->model));
    };
    draft->request.emplace(read());
    draft->body = {};
  };
  if (draft->body.size() <= kQuickBytesMax) {
    work();
  } else {
    const auto bytes = static_cast<std::int64_t>(draft->body.size());
    CO_TRY_OK(preparation->expect(*draft->model, state->token_estimate.tokens(bytes)));
    CO_TRY_OK(co_await preparation->turn().run(state->bulk_worker, std::move(work)));
  }
  if (!draft->request->ok()) co_return draft->request->error();
  co_return check_model_name(*draft->model, (*draft->request)->fields.model);
}

/// Makes the prompts on a text worker, if the engine would queue so many tokens at all.
template <class Request>
net::Task<Status> make_prompts(ServeState* state, Preparation* preparation,
                               std::shared_ptr<Draft<Request>> draft) {
  const TextSize size = size_of(**draft->request);
  const std::int64_t estimate = state->token_estimate.tokens(size.bytes) + size.given_tokens;
  CO_TRY_OK(preparation->expect(*draft->model, estimate));
  std::function<void()> work = [draft] {
    draft->prompts.emplace(prompts_of(*draft->model, **draft->request));
    draft->bad_words = bad_word_tokens(*draft->model, (*draft->request)->fields.logits.bad_words);
  };
  net::WorkerPool& worker = state->worker_for(static_cast<std::size_t>(size.bytes));
  CO_TRY_OK(co_await preparation->turn().run(worker, std::move(work)));
  if (!draft->prompts->ok()) co_return draft->prompts->error();
  std::int64_t tokens = -size.given_tokens;
  for (const auto& prompt : **draft->prompts) tokens += static_cast<std::int64_t>(prompt.size());
  state->token_estimate.learn(size.bytes, tokens);
  co_return ok_status();
}

template <class Request>
net::Task<Result<GenerationJob>> prepare(ServeState* state, api::ApiKind kind, std::string body,
                                         net::ResponseWriter& writer) {
  CO_TRY_OK(state->phase.admit());
  const auto draft = std::make_shared<Draft<Request>>();
  CO_TRY(draft->model, loaded_model(*state));
  draft->body = std::move(body);
  Preparation preparation(*state, writer);
  CO_TRY_OK(co_await read_request(state, &preparation, draft));
  preparation.set_limit((*draft->request)->fields);
  CO_TRY_OK(co_await make_prompts(state, &preparation, draft));
  GenerationJob job =
      make_job(kind, std::move((*draft->request)->fields), draft->model, preparation.arrived());
  job.prompts = std::move(**draft->prompts);
  job.bad_words = std::move(draft->bad_words);
  co_return job;
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
  return prepare<api::ChatRequest>(state, api::ApiKind::kChat, std::move(body), writer);
}

net::Task<Result<GenerationJob>> prepare_completion(ServeState* state, std::string body,
                                                    net::ResponseWriter& writer) {
  return prepare<api::CompletionRequest>(state, api::ApiKind::kCompletion, std::move(body), writer);
}

}  // namespace kantha::serve
