#include "engine/serve/prepare.h"

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

constexpr std::size_t kInlineJsonBytesMax = 64u << 10;
constexpr std::int64_t kBytesPerToken = 4;  // of ordinary text; only for the estimate
/// Seeds that nobody asked for stay below 2^53, so that every JSON reader can hand them back
/// unchanged.
constexpr std::uint64_t kSeedMask = (std::uint64_t{1} << 53) - 1;

using Prompts = std::vector<std::vector<TokenId>>;

/// Counts an estimate among the tokens in preparation while it lives.
class Preparation {
 public:
  Preparation(ServeState& state, std::int64_t tokens) : state_(state), tokens_(tokens) {
    state_.tokens_in_preparation += tokens_;
  }
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() { state_.tokens_in_preparation -= tokens_; }

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

/// Runs `make_prompts` on the text worker, if the engine would queue so many tokens at all.
net::Task<Result<Prompts>> prompts_within_limits(ServeState* state,
                                                 std::shared_ptr<const ServedModel> model,
                                                 std::int64_t estimate,
                                                 std::function<Result<Prompts>()> make_prompts) {
  CO_TRY_OK(model->engine->precheck(
      {.prompt_tokens = estimate, .tokens_ahead = state->tokens_in_preparation}));
  const Preparation counted(*state, estimate);
  std::optional<Result<Prompts>> prompts;
  std::function<void()> work = [&prompts, &make_prompts] { prompts.emplace(make_prompts()); };
  co_await state->text_worker.run(std::move(work));
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

net::Task<Result<Json>> read_body(ServeState* state, std::string body) {
  if (body.size() <= kInlineJsonBytesMax) co_return parse_json(body);
  std::optional<Result<Json>> json;
  std::function<void()> work = [&json, &body] { json.emplace(parse_json(body)); };
  co_await state->text_worker.run(std::move(work));
  co_return std::move(*json);
}

net::Task<Result<GenerationJob>> prepare_chat(ServeState* state, std::string body) {
  const TimePoint arrived = state->clock.now();
  CO_TRY_OK(state->phase.admit());
  CO_TRY(auto model, loaded_model(*state));
  CO_TRY(const Json json, co_await read_body(state, std::move(body)));
  CO_TRY(api::ChatRequest request, api::read_chat_request(json, request_limits(*model)));
  CO_TRY_OK(check_model_name(*model, request.fields.model));
  const std::int64_t estimate = request.content_bytes / kBytesPerToken;
  std::function<Result<Prompts>()> make = [&model, &request]() -> Result<Prompts> {
    TRY(std::vector<TokenId> prompt,
        chat_prompt(*model, request, model->engine->limits().context_max));
    return Prompts{std::move(prompt)};
  };
  CO_TRY(Prompts prompts, co_await prompts_within_limits(state, model, estimate, std::move(make)));
  GenerationJob job =
      make_job(api::ApiKind::kChat, std::move(request.fields), std::move(model), arrived);
  job.prompts = std::move(prompts);
  co_return job;
}

net::Task<Result<GenerationJob>> prepare_completion(ServeState* state, std::string body) {
  const TimePoint arrived = state->clock.now();
  CO_TRY_OK(state->phase.admit());
  CO_TRY(auto model, loaded_model(*state));
  CO_TRY(const Json json, co_await read_body(state, std::move(body)));
  CO_TRY(api::CompletionRequest request,
         api::read_completion_request(json, request_limits(*model)));
  CO_TRY_OK(check_model_name(*model, request.fields.model));
  const std::int64_t estimate = request.text_bytes / kBytesPerToken + request.token_count;
  std::function<Result<Prompts>()> make = [&model, &request] {
    return completion_prompts(*model, request);
  };
  CO_TRY(Prompts prompts, co_await prompts_within_limits(state, model, estimate, std::move(make)));
  GenerationJob job =
      make_job(api::ApiKind::kCompletion, std::move(request.fields), std::move(model), arrived);
  job.prompts = std::move(prompts);
  co_return job;
}

}  // namespace kantha::serve
