#include "engine/api/ollama_answer.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include "engine/api/logprobs.h"

namespace kantha::api {
namespace {

HttpError ollama_error(const Error& error) {
  OrderedJson json;
  json["error"] = error.message;
  return http_error_with(error, json);
}

class OllamaAnswer final : public AnswerWriter {
 public:
  OllamaAnswer(AnswerPlan plan, bool is_chat)
      : is_chat_(is_chat),
        tells_scores_(plan.options.logprobs),
        model_(std::move(plan.head.model)),
        created_at_(utc_text(plan.head.created)) {}

  std::string_view stream_type() const override { return "application/x-ndjson"; }
  std::string opening(std::int32_t, const Usage&) override { return {}; }
  std::string delta(const Delta& delta) override;
  std::string finish(const Ending& ending) override {
    reason_ = ending.reason;
    return calls_line();
  }
  std::string end(const Usage& usage, const AnswerTimes& times) override {
    return last({}, usage, times) + "\n";
  }
  std::string failure(const Error& error) override { return ollama_error(error).body + "\n"; }
  /// Their clients read every line as JSON.
  std::string keep_alive() override { return {}; }
  std::string whole(const std::vector<Choice>& choices, const Usage& usage,
                    const AnswerTimes& times) override;

 private:
  OrderedJson piece(const std::string& text, const std::string& thinking = {}) const;
  OrderedJson calls_json(const std::vector<dialect::CallDelta>& calls) const;
  std::string calls_line();
  void add_scores(OrderedJson& json, const std::vector<ScoredToken>& scores) const;
  std::string last(const Delta& answer, const Usage& usage, const AnswerTimes& times) const;

  bool is_chat_;
  bool tells_scores_;
  std::string model_;
  std::string created_at_;
  std::string reason_ = "stop";
  std::vector<dialect::CallDelta> calls_;  ///< that are not told yet: their calls come whole
};

OrderedJson OllamaAnswer::piece(const std::string& text, const std::string& thinking) const {
  OrderedJson json;
  json["model"] = model_;
  json["created_at"] = created_at_;
  OrderedJson& owner = is_chat_ ? json["message"] : json;
  if (is_chat_) owner["role"] = "assistant";
  owner[is_chat_ ? "content" : "response"] = text;
  if (!thinking.empty()) owner["thinking"] = thinking;
  return json;
}

OrderedJson OllamaAnswer::calls_json(const std::vector<dialect::CallDelta>& calls) const {
  OrderedJson list = OrderedJson::array();
  for (const dialect::CallDelta& call : calls) {
    OrderedJson entry;
    entry["id"] = call.id;
    entry["function"]["index"] = call.index;
    entry["function"]["name"] = call.name;
    entry["function"]["arguments"] = arguments_object(call.arguments);
    list.push_back(std::move(entry));
  }
  return list;
}

/// The calls that are complete as a line of their own.
std::string OllamaAnswer::calls_line() {
  if (calls_.empty()) return {};
  OrderedJson json = piece("");
  json["message"]["tool_calls"] = calls_json(std::exchange(calls_, {}));
  json["done"] = false;
  return dump_json(json) + "\n";
}

void OllamaAnswer::add_scores(OrderedJson& json, const std::vector<ScoredToken>& scores) const {
  if (tells_scores_ && !scores.empty()) json["logprobs"] = chat_logprobs(scores)["content"];
}

std::string OllamaAnswer::delta(const Delta& delta) {
  std::string bytes;
  for (const dialect::CallDelta& call : delta.calls) {
    if (!call.id.empty()) {
      bytes += calls_line();
      calls_.push_back(call);
    } else if (!calls_.empty()) {
      calls_.back().arguments += call.arguments;
    }
  }
  if (delta.text.empty() && delta.reasoning.empty() && !delta.calls.empty()) return bytes;
  OrderedJson json = piece(delta.text, delta.reasoning);
  json["done"] = false;
  add_scores(json, delta.scores);
  return dump_json(json) + "\n" + bytes;
}

std::string OllamaAnswer::last(const Delta& answer, const Usage& usage,
                               const AnswerTimes& times) const {
  OrderedJson json = piece(answer.text, answer.reasoning);
  if (!answer.calls.empty()) json["message"]["tool_calls"] = calls_json(answer.calls);
  json["done"] = true;
  json["done_reason"] = reason_ == "length" ? "length" : "stop";
  json["total_duration"] = times.total_ns;
  json["load_duration"] = 0;  // loaded before the first request is taken
  json["prompt_eval_count"] = usage.prompt_tokens;
  json["prompt_eval_duration"] = times.prompt_ns;
  json["eval_count"] = usage.completion_tokens;
  json["eval_duration"] = times.output_ns;
  add_scores(json, answer.scores);
  return dump_json(json);
}

std::string OllamaAnswer::whole(const std::vector<Choice>& choices, const Usage& usage,
                                const AnswerTimes& times) {
  reason_ = choices.front().finish_reason;
  return last(choices.front().answer, usage, times);
}

OrderedJson details_json() {
  OrderedJson json;
  json["parent_model"] = "";
  json["format"] = "gguf";
  json["family"] = "";
  json["families"] = OrderedJson::array();
  json["parameter_size"] = "";
  json["quantization_level"] = "";
  return json;
}

constexpr std::array kChatNames{
    FieldName{"max_tokens", "options.num_predict"},
    FieldName{"num_predict", "options.num_predict"},
    FieldName{"temperature", "options.temperature"},
    FieldName{"top_p", "options.top_p"},
    FieldName{"top_k", "options.top_k"},
    FieldName{"min_p", "options.min_p"},
    FieldName{"typical_p", "options.typical_p"},
    FieldName{"seed", "options.seed"},
    FieldName{"stop", "options.stop"},
    FieldName{"presence_penalty", "options.presence_penalty"},
    FieldName{"frequency_penalty", "options.frequency_penalty"},
    FieldName{"repetition_penalty", "options.repeat_penalty"},
    FieldName{"response_format.json_schema.schema", "format"},
    FieldName{"response_format", "format"},
    FieldName{"reasoning_effort", "think"},
};

constexpr auto kGenerateNames = [] {
  std::array<FieldName, kChatNames.size() + 1> names;
  for (std::size_t i = 0; i < kChatNames.size(); ++i) names[i] = kChatNames[i];
  names.back() = {"messages", "prompt"};
  return names;
}();

}  // namespace

const AnswerApi kOllamaChatAnswers{
    .make_writer = [](AnswerPlan plan) -> std::unique_ptr<AnswerWriter> {
      return std::make_unique<OllamaAnswer>(std::move(plan), /*is_chat=*/true);
    },
    .make_error = &ollama_error,
    .names = kChatNames};

const AnswerApi kOllamaGenerateAnswers{
    .make_writer = [](AnswerPlan plan) -> std::unique_ptr<AnswerWriter> {
      return std::make_unique<OllamaAnswer>(std::move(plan), /*is_chat=*/false);
    },
    .make_error = &ollama_error,
    .names = kGenerateNames};

OrderedJson ollama_tags_json(const OllamaModel& model) {
  OrderedJson entry;
  entry["name"] = model.name;
  entry["model"] = model.name;
  entry["modified_at"] = utc_text(model.created);
  entry["size"] = 0;
  entry["digest"] = model.digest;
  entry["details"] = details_json();
  OrderedJson json;
  json["models"] = OrderedJson::array();
  json["models"].push_back(std::move(entry));
  return json;
}

OrderedJson ollama_show_json(const OllamaModel& model) {
  OrderedJson json;
  json["modelfile"] = "";
  json["parameters"] = "";
  json["template"] = model.chat_template;
  json["details"] = details_json();
  json["model_info"]["general.basename"] = model.name;
  json["model_info"]["kantha.context_length"] = model.context_max;
  json["capabilities"] = OrderedJson::array({"completion"});
  if (model.calls_tools) json["capabilities"].push_back("tools");
  if (model.reasons) json["capabilities"].push_back("thinking");
  if (model.fills_gaps) json["capabilities"].push_back("insert");
  json["modified_at"] = utc_text(model.created);
  return json;
}

std::string utc_text(std::int64_t unix_seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
  const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(time)};
  const std::chrono::hh_mm_ss clock{time - std::chrono::floor<std::chrono::days>(time)};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

}  // namespace kantha::api
