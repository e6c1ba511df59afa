#include "engine/serve/prepare.h"

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/rng.h"
#include "engine/api/chat_request.h"
#include "engine/api/completion_request.h"
#include "engine/api/embedding_answer.h"
#include "engine/api/embedding_request.h"
#include "engine/api/openai_error.h"
#include "engine/api/output_format.h"
#include "engine/dialect/forced_call.h"
#include "engine/serve/answer_wish.h"
#include "engine/serve/infill_prompt.h"
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

/// From a body's JSON to a checked request.
template <class Request>
using Reader = Result<Request> (*)(const Json& json, const api::RequestLimits& limits);

/// What text work owns, since it may outlive its request.
template <class Request>
struct Draft {
  std::shared_ptr<const ServedModel> model;
  std::string body;
  Reader<Request> reader = nullptr;
  std::optional<Result<Request>> request;
  std::optional<Result<Prompts>> prompts;
  std::vector<std::vector<TokenId>> bad_words;
  std::vector<std::string> prompt_texts;            ///< when they are echoed
  AnswerWish wish;                                  ///< what the answer must look like
  std::shared_ptr<const grammar::Grammar> grammar;  ///< of it, where there is one
  std::optional<Error> refusal;                     ///< of what it must look like
  AnswerForm form;
};

/// Only a chat's functions are shown to the model as they were written.
void keep_order(const std::string& body, api::ChatRequest& request) {
  api::keep_order(body, request.tools);
}
void keep_order(const std::string&, api::CompletionRequest&) {}

/// How much a request asks the tokenizer to do.
struct TextSize {
  std::int64_t bytes = 0;
  std::int64_t given_tokens = 0;  ///< of prompts that are ids already
};

TextSize size_of(const api::ChatRequest& request) { return {.bytes = request.content_bytes}; }
TextSize size_of(const api::CompletionRequest& request) {
  return {.bytes = request.text_bytes, .given_tokens = request.token_count};
}

/// What a chat's answer is read by; nothing where everything is content.
AnswerForm form_of(const ServedModel& model, const api::ChatRequest& request,
                   bool opens_reasoning) {
  const dialect::Dialect& dialect = model.dialect.dialect;
  AnswerForm form;
  form.shows_reasoning = request.reasoning.included;
  form.names_call = request.tools.choice == api::ToolChoice::kNamed;
  if (!request.tools.offered && dialect.reasoning.empty()) return form;
  form.parser = dialect::ParserOptions{.tools = dialect.tools,
                                       .offered = request.tools.offered,
                                       .reasoning = dialect.reasoning,
                                       .inside_reasoning = opens_reasoning,
                                       .one_call = !request.tools.parallel || form.names_call};
  const auto tokens_of = [&model](const std::string& text) {
    return model.tokenizer.encode(text, /*parse_special=*/true);
  };
  if (!dialect.reasoning.empty()) {
    form.reasoning_tokens_max = request.reasoning.tokens_max;
    form.reasoning_end = tokens_of(dialect::reasoning_end(dialect.reasoning));
  }
  if (const auto name = forced_name(request.tools)) {
    form.opening = tokens_of(dialect::call_opening(dialect.tools, *name));
  }
  return form;
}

/// A shape has no calls: all of it is content, but for reasoning before it.
void read_shape(const ServedModel& model, const api::ChatRequest& request, AnswerForm& form) {
  if (!may_reason(model, request, form)) {
    form = {};
    return;
  }
  form.parser->offered = nullptr;
  form.parser->one_call = false;
}

Result<Prompts> prompts_of(const ServedModel& model, const api::ChatRequest& request,
                           AnswerForm& form) {
  if (forced_name(request.tools) &&
      model.dialect.dialect.tools.style == dialect::ToolStyle::kNone) {
    return invalid_argument("tool_choice: this server reads no calls (its tool parser is none)",
                            "tool_choice");
  }
  TRY(ChatPrompt prompt, chat_prompt(model, request, model.engine->limits().context_max));
  form = form_of(model, request, prompt.opens_reasoning);
  if (request.fields.output != nullptr) {
    if (!form.opening.empty()) {
      return invalid_argument(
          "tool_choice: a call that must come leaves no room for an answer of a given shape",
          "tool_choice");
    }
    read_shape(model, request, form);
  }
  return Prompts{std::move(prompt.ids)};
}
Result<Prompts> prompts_of(const ServedModel& model, const api::CompletionRequest& request,
                           AnswerForm& /*form*/) {
  return completion_prompts(model, request);
}
/// A model that was trained to find EOS behind its texts gathers their meaning there.
Result<Prompts> prompts_of(const ServedModel& model, const api::EmbeddingRequest& request,
                           AnswerForm& /*form*/) {
  return embedding_prompts(model, request);
}
Result<Prompts> prompts_of(const ServedModel& model, const api::TranslatedRequest& request,
                           AnswerForm& form) {
  const std::int32_t context_max = model.engine->limits().context_max;
  if (request.raw) {
    TRY(std::vector<TokenId> prompt, raw_prompt(model, *request.raw, context_max));
    return Prompts{std::move(prompt)};
  }
  if (!request.infill) {
    return prompts_of(model, static_cast<const api::ChatRequest&>(request), form);
  }
  TRY_OK(check_could_fit(model, static_cast<std::size_t>(request.content_bytes), "messages",
                         context_max));
  TRY(std::vector<TokenId> prompt, infill_prompt(model, *request.infill));
  return Prompts{std::move(prompt)};
}

AnswerWish wish_of(const ServedModel& model, const api::ChatRequest& request,
                   const AnswerForm& form) {
  return answer_wish(model, request, form);
}
AnswerWish wish_of(const ServedModel&, const api::CompletionRequest& request, const AnswerForm&) {
  return {.wish = request.fields.output};
}
AnswerWish wish_of(const ServedModel& model, const api::TranslatedRequest& request,
                   const AnswerForm& form) {
  if (request.raw || request.infill) return {.wish = request.fields.output};
  return answer_wish(model, request, form);
}

OrderedJson told_of(const api::ChatRequest&) { return OrderedJson::object(); }
OrderedJson told_of(const api::CompletionRequest&) { return OrderedJson::object(); }
OrderedJson told_of(const api::TranslatedRequest& request) { return request.told; }
OrderedJson told_of(const api::EmbeddingRequest& request) {
  OrderedJson told;
  told["base64"] = request.base64;
  return told;
}

sched::Pooling pooling_of(const api::ChatRequest&) { return sched::Pooling::kNone; }
sched::Pooling pooling_of(const api::CompletionRequest&) { return sched::Pooling::kNone; }
sched::Pooling pooling_of(const api::EmbeddingRequest& request) {
  return request.of_last ? sched::Pooling::kLast : sched::Pooling::kMean;
}

std::vector<std::string> texts_of(const ServedModel&, const api::ChatRequest&) { return {}; }
std::vector<std::string> texts_of(const ServedModel& model, const api::CompletionRequest& request) {
  return request.fields.echo ? prompt_texts(model, request) : std::vector<std::string>();
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
      TRY(Request request, draft->reader(json, request_limits(*draft->model)));
      request.fields.output = api::in_key_order(std::move(request.fields.output), draft->body);
      keep_order(draft->body, request);
      return request;
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

/// What was compiled before: of the wish, or of the looser one where that had to do.
std::shared_ptr<const grammar::Grammar> known_grammar(const ServedModel& model,
                                                      const AnswerWish& wish) {
  if (!wish.wish) return nullptr;
  auto known = model.grammars->find(*wish.wish);
  if (known || !wish.looser || !model.grammars->fails(*wish.wish)) return known;
  return model.grammars->find(*wish.looser);
}

/// Makes the prompts on a text worker, if the engine would queue so many tokens at all.
template <class Request>
net::Task<Status> make_prompts(ServeState* state, Preparation* preparation,
                               std::shared_ptr<Draft<Request>> draft) {
  const TextSize size = size_of(**draft->request);
  const std::int64_t estimate = state->token_estimate.tokens(size.bytes) + size.given_tokens;
  CO_TRY_OK(preparation->expect(*draft->model, estimate));
  std::function<void()> work = [draft] {
    draft->prompts.emplace(prompts_of(*draft->model, **draft->request, draft->form));
    draft->prompt_texts = texts_of(*draft->model, **draft->request);
    draft->bad_words = bad_word_tokens(*draft->model, (*draft->request)->fields.logits.bad_words);
    if (!draft->prompts->ok()) return;
    draft->wish = wish_of(*draft->model, **draft->request, draft->form);
    draft->grammar = known_grammar(*draft->model, draft->wish);
  };
  net::WorkerPool& worker = state->worker_for(static_cast<std::size_t>(size.bytes));
  CO_TRY_OK(co_await preparation->turn().run(worker, std::move(work)));
  if (!draft->prompts->ok()) co_return draft->prompts->error();
  std::int64_t tokens = -size.given_tokens;
  for (const auto& prompt : **draft->prompts) tokens += static_cast<std::int64_t>(prompt.size());
  state->token_estimate.learn(size.bytes, tokens);
  co_return ok_status();
}

/// The grammar of what the answer must look like.
Result<std::shared_ptr<const grammar::Grammar>> compile_wish(const ServedModel& model,
                                                             const AnswerWish& wish) {
  auto grammar = model.grammars->get(*wish.wish, model.tokenizer);
  if (grammar.ok() || !wish.looser) return grammar;
  return model.grammars->get(*wish.looser, model.tokenizer);
}

/// Compiles what the answer must look like, unless it is known. Schemas may take long, so that they
/// have the worker for long texts, where no ordinary request waits.
template <class Request>
net::Task<Status> compile_output(ServeState* state, Preparation* preparation,
                                 std::shared_ptr<Draft<Request>> draft) {
  if (draft->wish.wish == nullptr || draft->grammar != nullptr) co_return ok_status();
  std::function<void()> work = [draft] {
    auto grammar = compile_wish(*draft->model, draft->wish);
    if (grammar.ok()) {
      draft->grammar = *std::move(grammar);
    } else {
      draft->refusal = std::move(grammar).error();
    }
  };
  CO_TRY_OK(co_await preparation->turn().run(state->bulk_worker, std::move(work)));
  if (draft->refusal) co_return *std::move(draft->refusal);
  co_return ok_status();
}

/// What will be put in must follow the grammar; a call that is begun in another way is not held.
void agree(const AnswerWish& wish, const AnswerForm& form,
           std::shared_ptr<const grammar::Grammar>& grammar) {
  if (grammar != nullptr && wish.is_calls && !follows(grammar, form)) grammar = nullptr;
}

template <class Request>
net::Task<Result<GenerationJob>> prepare(ServeState* state, api::ApiKind kind,
                                         Reader<Request> reader, std::string body,
                                         net::ResponseWriter& writer) {
  CO_TRY_OK(state->phase.admit());
  const auto draft = std::make_shared<Draft<Request>>();
  draft->reader = reader;
  CO_TRY(draft->model, loaded_model(*state));
  draft->body = std::move(body);
  Preparation preparation(*state, writer);
  CO_TRY_OK(co_await read_request(state, &preparation, draft));
  preparation.set_limit((*draft->request)->fields);
  CO_TRY_OK(co_await make_prompts(state, &preparation, draft));
  CO_TRY_OK(co_await compile_output(state, &preparation, draft));
  agree(draft->wish, draft->form, draft->grammar);
  GenerationJob job =
      make_job(kind, std::move((*draft->request)->fields), draft->model, preparation.arrived());
  job.prompts = std::move(**draft->prompts);
  job.prompt_texts = std::move(draft->prompt_texts);
  job.bad_words = std::move(draft->bad_words);
  job.grammar = std::move(draft->grammar);
  job.told = told_of(**draft->request);
  job.pooling = pooling_of(**draft->request);
  job.form = std::move(draft->form);
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
  return prepare<api::ChatRequest>(state, api::ApiKind::kChat, &api::read_chat_request,
                                   std::move(body), writer);
}

net::Task<Result<GenerationJob>> prepare_completion(ServeState* state, std::string body,
                                                    net::ResponseWriter& writer) {
  return prepare<api::CompletionRequest>(state, api::ApiKind::kCompletion,
                                         &api::read_completion_request, std::move(body), writer);
}

net::Task<Result<GenerationJob>> prepare_translated(ServeState* state, api::RequestReader reader,
                                                    const api::AnswerApi* answers, std::string body,
                                                    net::ResponseWriter& writer) {
  CO_TRY(GenerationJob job, co_await prepare<api::TranslatedRequest>(
                                state, api::ApiKind::kChat, reader, std::move(body), writer));
  job.answers = answers;
  co_return job;
}

net::Task<Result<GenerationJob>> prepare_embedding(ServeState* state, std::string body,
                                                   net::ResponseWriter& writer) {
  CO_TRY(GenerationJob job, co_await prepare<api::EmbeddingRequest>(
                                state, api::ApiKind::kCompletion, &api::read_embedding_request,
                                std::move(body), writer));
  job.answers = &api::kEmbeddingAnswers;
  co_return job;
}

}  // namespace kantha::serve
