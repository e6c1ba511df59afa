#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "engine/api/token_request.h"
#include "engine/serve/prepare.h"
#include "engine/serve/prompt.h"
#include "engine/serve/routes.h"
#include "engine/serve/text_page.h"

namespace kantha::serve {
namespace {

Result<std::vector<TokenId>> tokenize(const ServedModel& model,
                                      const api::TokenizeRequest& request) {
  if (request.chat) {
    TRY(ChatPrompt prompt,
        chat_prompt(model, *request.chat, std::numeric_limits<std::int32_t>::max()));
    return std::move(prompt).ids;
  }
  return text_prompt(model, *request.prompt, request.add_special_tokens);
}

std::string tokenize_answer(const ServedModel& model, const api::TokenizeRequest& request,
                            const std::vector<TokenId>& ids) {
  std::optional<std::vector<std::string>> texts;
  if (request.return_token_strs) {
    texts.emplace();
    for (const TokenId id : ids) {
      texts->emplace_back(model.tokenizer.spelling(id));
    }
  }
  return dump_json(api::tokenize_json(ids, model.engine->limits().context_max, texts));
}

Result<std::string> tokenize_body(const ServedModel& model, const std::string& body) {
  TRY(const Json json, parse_json(body));
  TRY(api::TokenizeRequest request, api::read_tokenize_request(json));
  if (request.chat) api::keep_order(body, request.chat->tools);
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

/// What clients need that tokenise here and render templates themselves (lm-eval), as vLLM has it.
Result<std::string> tokenizer_page(const ServedModel& model, const std::string&) {
  const text::Vocabulary& vocabulary = model.tokenizer.vocabulary();
  const auto spelling = [&](const std::optional<TokenId>& id) -> OrderedJson {
    if (!id || *id < 0 || *id >= model.tokenizer.size()) return nullptr;
    return vocabulary.tokens[static_cast<std::size_t>(*id)];
  };
  OrderedJson json;
  json["tokenizer_class"] = vocabulary.model;
  json["bos_token"] = spelling(vocabulary.bos);
  json["eos_token"] = spelling(vocabulary.eos);
  json["unk_token"] = spelling(vocabulary.unknown);
  json["pad_token"] = spelling(vocabulary.padding);
  json["add_bos_token"] = vocabulary.add_bos;
  json["model_max_length"] = model.engine->limits().context_max;
  json["chat_template"] =
      model.chat_template ? OrderedJson(vocabulary.chat_template) : OrderedJson(nullptr);
  return dump_json(json);
}

}  // namespace

net::Task<void> get_tokenizer_info(ServeState* state, net::HttpRequest request,
                                   net::ResponseWriter& writer) {
  co_await answer_page(state, &api::kOpenAiAnswers, std::move(request.body), &tokenizer_page,
                       writer);
}

net::Task<void> post_tokenize(ServeState* state, net::HttpRequest request,
                              net::ResponseWriter& writer) {
  co_await answer_page(state, &api::kOpenAiAnswers, std::move(request.body), &tokenize_body,
                       writer);
}

net::Task<void> post_detokenize(ServeState* state, net::HttpRequest request,
                                net::ResponseWriter& writer) {
  co_await answer_page(state, &api::kOpenAiAnswers, std::move(request.body), &detokenize_body,
                       writer);
}

}  // namespace kantha::serve
