#include "cli/model_inspection.h"

#include "cli/model_text.h"
#include "engine/model/model_report.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"

namespace kantha::cli {
namespace {

/// Why an engine would not serve this: the file, then its tokenizer, then its template.
std::string refusal_of(const model::ModelReport& report) {
  if (!report.refusal.empty() || !report.vocabulary) return report.refusal;
  const auto tokenizer = text::Tokenizer::build(*report.vocabulary);
  if (!tokenizer.ok()) return tokenizer.error().message;
  const std::string& source = report.vocabulary->chat_template;
  if (source.empty()) return "";
  const auto chat_template = text::ChatTemplate::parse(source);
  return chat_template.ok() ? "" : chat_template.error().message;
}

/// Why no chat would be answered: the template's work has no end, or it needs what we do not have.
/// That it raises an error of its own may be due to the question.
std::string chat_refusal_of(const text::Vocabulary& vocabulary) {
  const auto chat_template = text::ChatTemplate::parse(vocabulary.chat_template);
  if (!chat_template.ok()) return "";
  text::TemplateInputs inputs;
  inputs.messages = OrderedJson::parse(R"([{"role": "user", "content": "Hello"}])");
  const auto prompt = chat_template->render(inputs);
  if (prompt.ok() || prompt.error().code == Code::kInvalidArgument) return "";
  return prompt.error().message;
}

}  // namespace

ModelInspection inspect_for_people(const std::string& path) {
  const model::ModelReport report = model::inspect_model(path);
  ModelInspection found;
  found.refusal = refusal_of(report);
  if (report.format.empty()) return found;
  std::string chat_refusal;
  if (found.refusal.empty() && report.vocabulary)
    chat_refusal = chat_refusal_of(*report.vocabulary);
  found.text = model_text(report, found.refusal, chat_refusal);
  if (found.refusal.empty()) found.refusal = chat_refusal;
  return found;
}

}  // namespace kantha::cli
