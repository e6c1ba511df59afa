#include "engine/serve/model_dialect.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace kantha::serve {
namespace {

std::optional<std::string> rendered(const text::ChatTemplate& chat_template,
                                    const text::Vocabulary& vocabulary, const OrderedJson& messages,
                                    const OrderedJson& tools) {
  text::TemplateInputs inputs;
  inputs.messages = messages;
  inputs.tools = tools;
  inputs.add_generation_prompt = false;
  inputs.bos_text = token_name(vocabulary, vocabulary.bos);
  inputs.eos_text = token_name(vocabulary, vocabulary.eos);
  const auto pieces = chat_template.render(inputs);
  if (!pieces.ok()) return std::nullopt;
  std::string text;
  for (const text::PromptPiece& piece : *pieces) text += piece.text;
  return text;
}

}  // namespace

std::string token_name(const text::Vocabulary& vocabulary, std::optional<TokenId> id) {
  if (!id || *id < 0 || static_cast<std::size_t>(*id) >= vocabulary.tokens.size()) return {};
  return vocabulary.tokens[static_cast<std::size_t>(*id)];
}

Result<ModelDialect> model_dialect(const text::Tokenizer& tokenizer,
                                   const text::ChatTemplate* chat_template,
                                   const std::string& tools, const std::string& reasoning) {
  const text::Vocabulary& vocabulary = tokenizer.vocabulary();
  const dialect::Render render = [&](const OrderedJson& messages, const OrderedJson& offered) {
    return chat_template == nullptr ? std::nullopt
                                    : rendered(*chat_template, vocabulary, messages, offered);
  };
  ModelDialect chosen;
  TRY(chosen.dialect, dialect::choose_dialect(tools, reasoning, vocabulary.chat_template, render));
  std::vector<std::string> marks = dialect::marks_of(chosen.dialect.tools);
  std::ranges::move(dialect::marks_of(chosen.dialect.reasoning), std::back_inserter(marks));
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    if (!tokenizer.is_control(id)) continue;
    const std::string name = token_name(vocabulary, id);
    if (std::ranges::find(marks, name) != marks.end()) chosen.marks.emplace(id, name);
  }
  return chosen;
}

}  // namespace kantha::serve
