#include "engine/serve/prompt.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "engine/api/openai_error.h"
#include "engine/dialect/conversation.h"

namespace kantha::serve {
namespace {

/// One rule for BOS: in front, once, where the model wants one.
void add_bos(const text::Vocabulary& vocabulary, std::vector<TokenId>& ids) {
  if (!vocabulary.add_bos || !vocabulary.bos) return;
  if (ids.empty() || ids.front() != *vocabulary.bos) ids.insert(ids.begin(), *vocabulary.bos);
}

/// The same at the other end.
void add_eos(const text::Vocabulary& vocabulary, std::vector<TokenId>& ids) {
  if (!vocabulary.add_eos || !vocabulary.eos) return;
  if (ids.empty() || ids.back() != *vocabulary.eos) ids.push_back(*vocabulary.eos);
}

/// Bytes of the longest text that one token stands for.
std::size_t longest_token(const text::Tokenizer& tokenizer) {
  std::size_t longest = 1;
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    const bool control = tokenizer.is_control(id);
    const std::string& spelling = tokenizer.vocabulary().tokens[static_cast<std::size_t>(id)];
    longest = std::max(longest, control ? spelling.size() : tokenizer.bytes_of(id).size());
  }
  return longest;
}

/// Only what the template wrote opens anything.
bool opens_reasoning(const dialect::ReasoningSyntax& reasoning,
                     const std::vector<text::PromptPiece>& pieces) {
  return !pieces.empty() && !pieces.back().from_input &&
         dialect::leaves_reasoning_open(reasoning, pieces.back().text);
}

Error in_messages(Error error) {
  if (error.field.empty()) error.field = "messages";
  return std::move(error).with_context("messages");
}

}  // namespace

Status check_could_fit(const ServedModel& model, std::size_t bytes, const std::string& field,
                       std::int32_t tokens_max) {
  constexpr std::size_t kQuickBytesMax = 64u << 10;  // not worth a look at the vocabulary
  if (bytes <= kQuickBytesMax || tokens_max == std::numeric_limits<std::int32_t>::max()) {
    return ok_status();
  }
  const std::size_t longest = longest_token(model.tokenizer);
  const std::size_t tokens_min = (bytes + longest - 1) / longest;
  if (tokens_min <= static_cast<std::size_t>(tokens_max)) return ok_status();
  Error error = invalid_argument(
      field + ": " + std::to_string(bytes) + " bytes are at least " + std::to_string(tokens_min) +
          " tokens, which do not fit the window of " + std::to_string(tokens_max) + " tokens",
      field);
  error.reason = api::kReasonContextLength;
  return error;
}

Result<ChatPrompt> chat_prompt(const ServedModel& model, const api::ChatRequest& request,
                               std::int32_t tokens_max) {
  if (!model.chat_template) {
    return invalid_argument("messages: this model has no chat template; use /v1/completions",
                            "messages");
  }
  const text::Vocabulary& vocabulary = model.tokenizer.vocabulary();
  text::TemplateInputs inputs;
  const dialect::Dialect& dialect = model.dialect.dialect;
  inputs.messages = dialect::messages_for(dialect, request.messages, request.tools.listed);
  inputs.tools = dialect::tools_for(dialect, request.tools.listed);
  inputs.add_generation_prompt = request.add_generation_prompt;
  inputs.extra = request.template_extra;
  inputs.bos_text = token_name(vocabulary, vocabulary.bos);
  inputs.eos_text = token_name(vocabulary, vocabulary.eos);
  auto pieces = model.chat_template->render(inputs);
  if (!pieces.ok()) return in_messages(std::move(pieces).error());
  std::size_t bytes = 0;
  for (const text::PromptPiece& piece : *pieces) bytes += piece.text.size();
  TRY_OK(check_could_fit(model, bytes, "messages", tokens_max));
  ChatPrompt prompt{.ids = model.tokenizer.encode(*pieces)};
  add_bos(vocabulary, prompt.ids);
  if (prompt.ids.empty()) {
    return invalid_argument("messages: the prompt has no tokens", "messages");
  }
  prompt.opens_reasoning = opens_reasoning(dialect.reasoning, *pieces);
  return prompt;
}

std::vector<TokenId> text_prompt(const ServedModel& model, const std::string& text, bool with_bos) {
  std::vector<TokenId> ids = model.tokenizer.encode(text, /*parse_special=*/true);
  if (with_bos) add_bos(model.tokenizer.vocabulary(), ids);
  return ids;
}

Result<std::vector<TokenId>> raw_prompt(const ServedModel& model, const std::string& text,
                                        std::int32_t tokens_max) {
  TRY_OK(check_could_fit(model, text.size(), "prompt", tokens_max));
  std::vector<TokenId> ids = text_prompt(model, text, /*with_bos=*/true);
  if (ids.empty()) return invalid_argument("prompt: the prompt has no tokens", "prompt");
  return ids;
}

std::vector<std::string> prompt_texts(const ServedModel& model,
                                      const api::CompletionRequest& request) {
  std::vector<std::string> texts;
  for (const api::CompletionPrompt& prompt : request.prompts) {
    const std::string* text = std::get_if<std::string>(&prompt);
    texts.push_back(text != nullptr ? *text
                                    : model.tokenizer.decode(std::get<std::vector<TokenId>>(prompt),
                                                             /*with_special=*/true));
  }
  return texts;
}

std::vector<std::vector<TokenId>> bad_word_tokens(const ServedModel& model,
                                                  const std::vector<std::string>& words) {
  std::vector<std::vector<TokenId>> sequences;
  const auto add = [&](const std::string& text) {
    std::vector<TokenId> ids = model.tokenizer.encode(text, /*parse_special=*/false);
    const bool known = std::ranges::find(sequences, ids) != sequences.end();
    if (!ids.empty() && !known) sequences.push_back(std::move(ids));
  };
  for (const std::string& word : words) {
    add(word);
    if (!word.starts_with(' ')) add(" " + word);
  }
  return sequences;
}

Result<std::vector<std::vector<TokenId>>> completion_prompts(
    const ServedModel& model, const api::CompletionRequest& request) {
  std::vector<std::vector<TokenId>> prompts;
  for (const api::CompletionPrompt& prompt : request.prompts) {
    const std::string* text = std::get_if<std::string>(&prompt);
    if (text != nullptr) {
      TRY_OK(check_could_fit(model, text->size(), "prompt", model.engine->limits().context_max));
    }
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

Result<std::vector<std::vector<TokenId>>> embedding_prompts(const ServedModel& model,
                                                            const api::CompletionRequest& request) {
  TRY(auto prompts, completion_prompts(model, request));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (!std::holds_alternative<std::string>(request.prompts[i])) continue;
    add_eos(model.tokenizer.vocabulary(), prompts[i]);
  }
  return prompts;
}

}  // namespace kantha::serve
