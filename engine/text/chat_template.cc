#include "engine/text/chat_template.h"

#include <utility>

#include "engine/text/template_eval.h"
#include "engine/text/template_json.h"
#include "engine/text/template_parser.h"

namespace kantha::text {
namespace {

using Globals = std::vector<std::pair<std::string, Value>>;

Status add_json(Globals& globals, std::string name, const OrderedJson& json) {
  Result<Value> value = value_from_json(json, /*from_input=*/true);
  if (!value.ok()) return std::move(value).error().with_context(name);
  globals.emplace_back(std::move(name), std::move(value).value());
  return ok_status();
}

/// The variables that transformers gives to templates, and its functions.
Result<Globals> globals_of(const TemplateInputs& inputs) {
  Globals globals = {
      {"range", Value(GlobalFunction::kRange)},
      {"namespace", Value(GlobalFunction::kNamespace)},
      {"dict", Value(GlobalFunction::kDict)},
      {"raise_exception", Value(GlobalFunction::kRaise)},
      {"strftime_now", Value(GlobalFunction::kStrftimeNow)},
      {"add_generation_prompt", Value::boolean(inputs.add_generation_prompt)},
      {"bos_token", Value::text(inputs.bos_text)},
      {"eos_token", Value::text(inputs.eos_text)},
      {"documents", Value()},
  };
  TRY_OK(add_json(globals, "messages", inputs.messages));
  TRY_OK(add_json(globals, "tools", inputs.tools));
  for (const auto& [name, json] : inputs.extra.items()) {
    TRY_OK(add_json(globals, name, json));
  }
  return globals;
}

std::vector<PromptPiece> pieces_of(const MarkedText& text) {
  std::vector<PromptPiece> pieces;
  std::size_t start = 0;
  for (const MarkedText::Run& run : text.runs()) {
    pieces.push_back({text.bytes().substr(start, run.end - start), run.from_input});
    start = run.end;
  }
  return pieces;
}

}  // namespace

struct ChatTemplate::Body {
  TemplateProgram program;
  TemplateLimits limits;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const TemplateLimits& limits) {
  if (source.size() > limits.source_bytes_max) {
    return Error{Code::kOutOfRange, "chat template: expected at most " +
                                        std::to_string(limits.source_bytes_max) + " bytes, got " +
                                        std::to_string(source.size())};
  }
  auto body = std::make_shared<Body>();
  body->limits = limits;
  TRY(body->program, parse_template(source, limits.depth_max));
  return ChatTemplate(std::shared_ptr<const Body>(std::move(body)));
}

Result<std::vector<PromptPiece>> ChatTemplate::render(const TemplateInputs& inputs) const {
  TRY(Globals globals, globals_of(inputs));
  const Clock& clock = inputs.clock != nullptr ? *inputs.clock : system_clock();
  Evaluator evaluator(body_->program, body_->limits, clock);
  TRY(const MarkedText text, evaluator.run(std::move(globals)));
  return pieces_of(text);
}

}  // namespace kantha::text
