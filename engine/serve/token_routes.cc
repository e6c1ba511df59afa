#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/api/token_request.h"
#include "engine/serve/answers.h"
#include "engine/serve/prepare.h"
#include "engine/serve/prompt.h"
#include "engine/serve/routes.h"
#include "engine/serve/text_turn.h"

namespace kantha::serve {
namespace {

Result<std::vector<TokenId>> tokenize(const ServedModel& model,
                                      const api::TokenizeRequest& request) {
  if (request.chat) {
    return chat_prompt(model, *request.chat, std::numeric_limits<std::int32_t>::max());
  }
  return text_prompt(model, *request.prompt, request.add_special_tokens);
}

std::string tokenize_answer(const ServedModel& model, const api::TokenizeRequest& request,
                            const std::vector<TokenId>& ids) {
  std::optional<std::vector<std::string>> texts;
  if (request.return_token_strs) {
    texts.emplace();
    for (const TokenId id : ids) {
      texts->push_back(model.tokenizer.decode(std::span(&id, 1), /*with_special=*/true));
    }
  }
  return dump_json(api::tokenize_json(ids, model.engine->limits().context_max, texts));
}

Result<std::string> tokenize_body(const ServedModel& model, const std::string& body) {
  TRY(const Json json, parse_json(body));
  TRY(const api::TokenizeRequest request, api::read_tokenize_request(json));
  TRY_OK(check_model_name(model, request.model));
  TRY(const std::vector<TokenId> ids, tokenize(model, request));
  return tokenize_answer(model, request, ids);
}

Result<std::string> detokenize_body(const ServedModel& model, const std::string& body) {
  TRY(const Json json, parse_json(body));
  TRY(const api::DetokenizeRequest request,
      api::read_detokenize_request(json, request_limits(model)));
  TRY_OK(check_model_name(model, request.model));
  OrderedJson answer;
  answer["prompt"] = model.tokenizer.decode(request.tokens, /*with_special=*/true);
  return dump_json(answer);
}

/// What the work owns, since it may outlive its request.
struct Page {
  std::shared_ptr<const ServedModel> model;
  std::string body;
  std::optional<Result<std::string>> answer;
};

using Answer = Result<std::string> (*)(const ServedModel& model, const std::string& body);

/// All of it on a worker: a body may hold megabytes, and so may its answer.
net::Task<Result<std::string>> answer_body(ServeState* state, std::string body, Answer answer,
                                           net::ResponseWriter& writer) {
  const auto page = std::make_shared<Page>();
  CO_TRY(page->model, loaded_model(*state));
  page->body = std::move(body);
  TextTurn turn(state->text_tasks, state->executor, state->clock, writer);
  std::function<void()> work = [page, answer] {
    page->answer.emplace(answer(*page->model, page->body));
  };
  net::WorkerPool& worker = state->worker_for(page->body.size());
  CO_TRY_OK(co_await turn.run(worker, std::move(work)));
  co_return std::move(*page->answer);
}

net::Task<void> send_result(net::ResponseWriter& writer, Result<std::string> result) {
  if (result.ok()) {
    co_await send_json(writer, 200, std::move(result).value());
    co_return;
  }
  Error error = std::move(result).error();
  if (error.code == Code::kCancelled) {
    writer.abort();
    co_return;
  }
  co_await send_error(writer, std::move(error));
}

}  // namespace

net::Task<void> post_tokenize(ServeState* state, net::HttpRequest request,
                              net::ResponseWriter& writer) {
  Result<std::string> result =
      co_await answer_body(state, std::move(request.body), &tokenize_body, writer);
  co_await send_result(writer, std::move(result));
}

net::Task<void> post_detokenize(ServeState* state, net::HttpRequest request,
                                net::ResponseWriter& writer) {
  Result<std::string> result =
      co_await answer_body(state, std::move(request.body), &detokenize_body, writer);
  co_await send_result(writer, std::move(result));
}

}  // namespace kantha::serve
