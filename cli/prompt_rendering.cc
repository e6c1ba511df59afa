#include "cli/prompt_rendering.h"

#include <optional>
#include <utility>

#include "base/whole_file.h"
#include "engine/model/gguf_file.h"
#include "engine/model/model_file.h"
#include "engine/model/vocabulary_from_gguf.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"

namespace kantha::cli {
namespace {

constexpr std::size_t kFileBytesMax = 8u << 20;

Result<OrderedJson> read_json(const std::string& path) {
  TRY(const std::string text, read_whole_file(path, kFileBytesMax));
  auto json = parse_ordered_json(text);
  if (!json.ok()) return std::move(json).error().with_context(path);
  return json;
}

Result<text::Vocabulary> read_vocabulary(const std::string& path) {
  TRY(const auto file, model::ModelFile::open(path));
  const auto parsed = model::parse_gguf(file->bytes());
  if (!parsed.ok()) return Error(parsed.error()).with_context(path);
  auto vocabulary = model::vocabulary_from_gguf(parsed->metadata);
  if (!vocabulary.ok()) return std::move(vocabulary).error().with_context(path);
  if (vocabulary->chat_template.empty()) {
    return invalid_argument(path + ": this model has no chat template");
  }
  return vocabulary;
}

std::string spelling(const text::Vocabulary& vocabulary, const std::optional<TokenId>& id) {
  return id ? vocabulary.tokens[static_cast<std::size_t>(*id)] : std::string();
}

/// Messages and tools, from one file or two.
Status read_conversation(const RenderRequest& request, text::TemplateInputs& inputs) {
  TRY(OrderedJson json, read_json(request.messages_path));
  if (json.is_object()) {
    if (!json.contains("messages")) {
      return invalid_argument(request.messages_path +
                              ": expected an array of messages, or an "
                              "object with \"messages\"");
    }
    inputs.messages = json["messages"];
    if (json.contains("tools")) inputs.tools = json["tools"];
  } else {
    inputs.messages = std::move(json);
  }
  if (!inputs.messages.is_array()) {
    return invalid_argument(request.messages_path + ": messages: expected an array");
  }
  if (!request.tools_path.empty()) {
    TRY(inputs.tools, read_json(request.tools_path));
  }
  if (!inputs.tools.is_array() && !inputs.tools.is_null()) {
    return invalid_argument("tools: expected an array");
  }
  if (request.variables.empty()) return ok_status();
  auto variables = parse_ordered_json(request.variables);
  if (!variables.ok()) return std::move(variables).error().with_context("--set");
  if (!variables->is_object()) return invalid_argument("--set: expected a JSON object");
  inputs.extra = std::move(variables).value();
  return ok_status();
}

std::string as_pieces(const std::vector<text::PromptPiece>& pieces) {
  OrderedJson list = OrderedJson::array();
  for (const text::PromptPiece& piece : pieces) {
    OrderedJson one;
    one["text"] = piece.text;
    one["from_request"] = piece.from_input;
    list.push_back(std::move(one));
  }
  return dump_json(list) + "\n";
}

Result<std::string> as_ids(text::Vocabulary vocabulary,
                           const std::vector<text::PromptPiece>& pieces) {
  TRY(const text::Tokenizer tokenizer, text::Tokenizer::build(std::move(vocabulary)));
  std::vector<TokenId> ids = tokenizer.encode(pieces);
  const text::Vocabulary& built = tokenizer.vocabulary();
  const bool wants_bos = built.add_bos && built.bos && (ids.empty() || ids.front() != *built.bos);
  if (wants_bos) ids.insert(ids.begin(), *built.bos);
  std::string line;
  for (const TokenId id : ids) line += (line.empty() ? "" : " ") + std::to_string(id);
  return line + "\n";
}

}  // namespace

Result<std::string> rendered_prompt(const RenderRequest& request) {
  text::Vocabulary vocabulary;
  if (!request.model_path.empty()) {
    TRY(vocabulary, read_vocabulary(request.model_path));
  } else {
    TRY(vocabulary.chat_template, read_whole_file(request.template_path, kFileBytesMax));
  }
  TRY(const auto chat, text::ChatTemplate::parse(vocabulary.chat_template));
  text::TemplateInputs inputs;
  TRY_OK(read_conversation(request, inputs));
  inputs.add_generation_prompt = request.add_generation_prompt;
  inputs.bos_text = spelling(vocabulary, vocabulary.bos);
  inputs.eos_text = spelling(vocabulary, vocabulary.eos);
  TRY(const std::vector<text::PromptPiece> pieces, chat.render(inputs));
  if (request.as_ids) return as_ids(std::move(vocabulary), pieces);
  if (request.as_pieces) return as_pieces(pieces);
  std::string text;
  for (const text::PromptPiece& piece : pieces) text += piece.text;
  return text;
}

}  // namespace kantha::cli
