#include <utility>

#include "base/json.h"
#include "base/version.h"
#include "engine/api/ollama_answer.h"
#include "engine/api/ollama_request.h"
#include "engine/serve/answers.h"
#include "engine/serve/infill_prompt.h"
#include "engine/serve/prepare.h"
#include "engine/serve/routes.h"
#include "engine/serve/text_page.h"

namespace kantha::serve {
namespace {

api::OllamaModel card_of(const ServedModel& model) {
  const text::Vocabulary& vocabulary = model.tokenizer.vocabulary();
  return {.name = model.name,
          .created = model.created,
          .digest = model.fingerprint,
          .context_max = model.engine->limits().context_max,
          .chat_template = model.chat_template ? vocabulary.chat_template : std::string(),
          .fills_gaps = infill_tokens(model.tokenizer).has_value(),
          .calls_tools = model.chat_template.has_value() &&
                         model.dialect.dialect.tools.style != dialect::ToolStyle::kNone,
          .reasons = !model.dialect.dialect.reasoning.empty()};
}

Result<std::string> tags_page(const ServedModel& model, const std::string&) {
  return dump_json(api::ollama_tags_json(card_of(model)));
}

Result<std::string> show_page(const ServedModel& model, const std::string& body) {
  TRY(const Json json, parse_json(body));
  TRY(const std::string name, api::read_ollama_show(json));
  TRY_OK(check_model_name(model, name));
  return dump_json(api::ollama_show_json(card_of(model)));
}

}  // namespace

net::Task<void> get_ollama_version(ServeState*, net::HttpRequest, net::ResponseWriter& writer) {
  OrderedJson json;
  json["version"] = std::string(version());
  co_await send_json(writer, 200, dump_json(json));
}

net::Task<void> get_ollama_tags(ServeState* state, net::HttpRequest request,
                                net::ResponseWriter& writer) {
  co_await answer_page(state, &api::kOllamaChatAnswers, std::move(request.body), &tags_page,
                       writer);
}

net::Task<void> post_ollama_show(ServeState* state, net::HttpRequest request,
                                 net::ResponseWriter& writer) {
  co_await answer_page(state, &api::kOllamaChatAnswers, std::move(request.body), &show_page,
                       writer);
}

}  // namespace kantha::serve
