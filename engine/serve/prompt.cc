#include "engine/serve/prompt.h"

#include <utility>
#include <variant>

namespace kantha::serve {
namespace {

std::string text_of(const text::Vocabulary& vocabulary, const std::optional<TokenId>& id) {
  if (!id || *id < 0 || static_cast<std::size_t>(*id) >= vocabulary.tokens.size()) return {};
  return vocabulary.tokens[static_cast<std::size_t>(*id)];
}

/// One rule for BOS: in front, once, where the model wants one.
void add_bos(const text::Vocabulary& vocabulary, std::vector<TokenId>& ids) {
  if (!vocabulary.add_bos || !vocabulary.bos) return;
  if (ids.empty() || ids.front() != *vocabulary.bos) ids.insert(ids.begin(), *vocabulary.bos);
}

Error in_messages(Error error) {
  if (error.field.empty()) error.field = "messages";
  return std::move(error).with_context("messages");
}

}  // namespace

Result<std::vector<TokenId>> chat_prompt(const ServedModel& model,
                                         const api::ChatRequest& request) {
  if (!model.chat_template) {
    return invalid_argument("messages: this model has no chat template; use /v1/completions",
                            "messages");
  }
  const text::Vocabulary& vocabulary = model.tokenizer.vocabulary();
  text::TemplateInputs inputs;
  inputs.messages = request.messages;
  inputs.add_generation_prompt = request.add_generation_prompt;
  inputs.extra = request.template_extra;
  inputs.bos_text = text_of(vocabulary, vocabulary.bos);
  inputs.eos_text = text_of(vocabulary, vocabulary.eos);
  auto pieces = model.chat_template->render(inputs);
  if (!pieces.ok()) return in_messages(std::move(pieces).error());
  std::vector<TokenId> ids = model.tokenizer.encode(*pieces);
  add_bos(vocabulary, ids);
  if (ids.empty()) {
    return invalid_argument("messages: the prompt has no tokens", "messages");
  }
  return ids;
}

std::vector<TokenId> text_prompt(const ServedModel& model, const std::string& text, bool with_bos) {
  std::vector<TokenId> ids = model.tokenizer.encode(text, /*parse_special=*/true);
  if (with_bos) add_bos(model.tokenizer.vocabulary(), ids);
  return ids;
}

Result<std::vector<std::vector<TokenId>>> completion_prompts(
    const ServedModel& model, const api::CompletionRequest& request) {
  std::vector<std::vector<TokenId>> prompts;
  for (const api::CompletionPrompt& prompt : request.prompts) {
    const std::string* text = std::get_if<std::string>(&prompt);
    prompts.push_back(text != nullptr ? text_prompt(model, *text, /*with_bos=*/true)
                                      : std::get<std::vector<TokenId>>(prompt));
    if (!prompts.back().empty()) continue;
    const std::string path = request.prompts.size() == 1
                                 ? "prompt"
                                 : "prompt[" + std::to_string(prompts.size() - 1) + "]";
    return invalid_argument(path + ": the prompt has no tokens", path);
  }
  return prompts;
}

}  // namespace kantha::serve
