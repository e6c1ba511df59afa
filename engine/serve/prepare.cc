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

/// One request on its way to the engine: counted among those in preparation while this lives.
class Preparation {
 public:
  Preparation(ServeState& state, net::ResponseWriter& writer)
      : state_(state),
        arrived_(state.clock.now()),
        gone_(std::make_shared<std::atomic<bool>>(false)) {
    writer.on_client_gone([gone = gone_] { gone->store(true); });
    ++state_.requests_in_preparation;
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() {
    --state_.requests_in_preparation;
    state_.tokens_in_preparation -= tokens_;
  }

  TimePoint arrived() const { return arrived_; }
  void set_limit(const api::GenerationFields& fields) {
    deadline_ = deadline_of(fields, arrived_);
    if (deadline_) passed_ = deadline_passed(fields);
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
  /// Is the answer still wanted? Any thread.
  Status check_wanted() const {
    if (gone_->load()) return Error{.code = Code::kCancelled, .message = "the client left"};
    if (deadline_ && state_.clock.now() >= *deadline_) return *passed_;
    return ok_status();
  }

 private:
  ServeState& state_;
  const TimePoint arrived_;
  const std::shared_ptr<std::atomic<bool>> gone_;
  std::int64_t tokens_ = 0;
  std::optional<TimePoint> deadline_;
  std::optional<Error> passed_;
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

/// A request's JSON as a checked struct. A large body is parsed and read on the bulk worker, and
/// only if the queue has room at all.
template <class Request, class Read>
net::Task<Result<Request>> read_request(ServeState* state, std::shared_ptr<const ServedModel> model,
                                        Preparation* preparation, std::string body, Read read) {
  const api::RequestLimits limits = request_limits(*model);
  std::optional<Result<Request>> request;
  const auto read_body = [&]() -> Result<Request> {
    TRY_OK(preparation->check_wanted());
    TRY(const Json json, parse_json(body));
    return read(json, limits);
  };
  std::function<void()> work = [&request, &read_body] { request.emplace(read_body()); };
  if (body.size() <= kQuickBytesMax) {
    work();
  } else {
    const auto bytes = static_cast<std::int64_t>(body.size());
    CO_TRY_OK(preparation->expect(*model, state->token_estimate.tokens(bytes)));
    co_await state->bulk_worker.run(std::move(work));
  }
  co_return std::move(*request);
}

/// How much a request asks the tokenizer to do.
struct TextSize {
  std::int64_t bytes = 0;
  std::int64_t given_tokens = 0;  ///< of prompts that are ids already
};

/// Runs `make_prompts` on a text worker, if the engine would queue so many tokens at all.
net::Task<Result<Prompts>> prompts_within_limits(ServeState* state,
                                                 std::shared_ptr<const ServedModel> model,
                                                 Preparation* preparation, TextSize size,
                                                 std::function<Result<Prompts>()> make_prompts) {
  const std::int64_t estimate = state->token_estimate.tokens(size.bytes) + size.given_tokens;
  CO_TRY_OK(preparation->expect(*model, estimate));
  std::optional<Result<Prompts>> prompts;
  std::function<void()> work = [&] {
    const Status wanted = preparation->check_wanted();
    prompts.emplace(wanted.ok() ? make_prompts() : wanted.error());
  };
  net::WorkerPool& worker = state->worker_for(static_cast<std::size_t>(size.bytes));
  co_await worker.run(std::move(work));
  if (!prompts->ok()) co_return std::move(*prompts);
  std::int64_t tokens = -size.given_tokens;
  for (const auto& prompt : **prompts) tokens += static_cast<std::int64_t>(prompt.size());
  state->token_estimate.learn(size.bytes, tokens);
  CO_TRY_OK(preparation->check_wanted());
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
  CO_TRY_OK(state->phase.admit());
  CO_TRY(auto model, loaded_model(*state));
  Preparation preparation(*state, writer);
  CO_TRY(api::ChatRequest request,
         co_await read_request<api::ChatRequest>(state, model, &preparation, std::move(body),
                                                 &api::read_chat_request));
  CO_TRY_OK(check_model_name(*model, request.fields.model));
  preparation.set_limit(request.fields);
  std::function<Result<Prompts>()> make = [&model, &request]() -> Result<Prompts> {
    TRY(std::vector<TokenId> prompt,
        chat_prompt(*model, request, model->engine->limits().context_max));
    return Prompts{std::move(prompt)};
  };
  const TextSize size{.bytes = request.content_bytes};
  CO_TRY(Prompts prompts,
         co_await prompts_within_limits(state, model, &preparation, size, std::move(make)));
  GenerationJob job = make_job(api::ApiKind::kChat, std::move(request.fields), std::move(model),
                               preparation.arrived());
  job.prompts = std::move(prompts);
  co_return job;
}

net::Task<Result<GenerationJob>> prepare_completion(ServeState* state, std::string body,
                                                    net::ResponseWriter& writer) {
  CO_TRY_OK(state->phase.admit());
  CO_TRY(auto model, loaded_model(*state));
  Preparation preparation(*state, writer);
  CO_TRY(api::CompletionRequest request,
         co_await read_request<api::CompletionRequest>(state, model, &preparation, std::move(body),
                                                       &api::read_completion_request));
  CO_TRY_OK(check_model_name(*model, request.fields.model));
  preparation.set_limit(request.fields);
  std::function<Result<Prompts>()> make = [&model, &request] {
    return completion_prompts(*model, request);
  };
  const TextSize size{.bytes = request.text_bytes, .given_tokens = request.token_count};
  CO_TRY(Prompts prompts,
         co_await prompts_within_limits(state, model, &preparation, size, std::move(make)));
  GenerationJob job = make_job(api::ApiKind::kCompletion, std::move(request.fields),
                               std::move(model), preparation.arrived());
  job.prompts = std::move(prompts);
  co_return job;
}

}  // namespace kantha::serve
