#include "engine/api/infill_answer.h"

#include <array>
#include <utility>

namespace kantha::api {
namespace {

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

class InfillAnswer final : public AnswerWriter {
 public:
  explicit InfillAnswer(AnswerPlan plan) : model_(std::move(plan.head.model)) {}

  std::string opening(std::int32_t, const Usage&) override { return {}; }
  std::string delta(const Delta& delta) override {
    OrderedJson json;
    json["index"] = 0;
    json["content"] = delta.text;
    json["stop"] = false;
    return event(json);
  }
  std::string finish(const Ending& ending) override {
    note_end(ending.reason, ending.stop_string);
    return {};
  }
  std::string end(const Usage& usage, const AnswerTimes& times) override {
    return event(last("", usage, times));
  }
  std::string failure(const Error& error) override { return "data: " + error_body(error) + "\n\n"; }
  std::string keep_alive() override { return ": waiting\n\n"; }
  std::string whole(const std::vector<Choice>& choices, const Usage& usage,
                    const AnswerTimes& times) override {
    note_end(choices.front().finish_reason, choices.front().stop_string);
    return dump_json(last(choices.front().answer.text, usage, times));
  }

 private:
  static std::string event(const OrderedJson& json) { return "data: " + dump_json(json) + "\n\n"; }

  void note_end(std::string_view reason, std::string_view stop_string) {
    stop_type_ = reason == "length" ? "limit" : stop_string.empty() ? "eos" : "word";
    stopping_word_ = stop_string;
  }

  OrderedJson last(const std::string& text, const Usage& usage, const AnswerTimes& times) const {
    OrderedJson json;
    json["index"] = 0;
    json["content"] = text;
    json["stop"] = true;
    json["model"] = model_;
    json["tokens_predicted"] = usage.completion_tokens;
    json["tokens_evaluated"] = usage.prompt_tokens;
    json["tokens_cached"] = usage.cached_tokens;
    json["truncated"] = false;
    json["stop_type"] = stop_type_;
    json["stopping_word"] = stopping_word_;
    json["timings"]["prompt_n"] = usage.prompt_tokens - usage.cached_tokens;
    json["timings"]["prompt_ms"] = milliseconds(times.prompt_ns);
    json["timings"]["predicted_n"] = usage.completion_tokens;
    json["timings"]["predicted_ms"] = milliseconds(times.output_ns);
    return json;
  }

  std::string model_;
  std::string stop_type_ = "eos";
  std::string stopping_word_;
};

constexpr std::array kNames{FieldName{"max_tokens", "n_predict"},
                            FieldName{"messages", "input_prefix"},
                            FieldName{"repetition_penalty", "repeat_penalty"}};

}  // namespace

const AnswerApi kInfillAnswers{.make_writer = [](AnswerPlan plan) -> std::unique_ptr<AnswerWriter> {
                                 return std::make_unique<InfillAnswer>(std::move(plan));
                               },
                               .make_error = &to_http_error,
                               .names = kNames};

}  // namespace kantha::api
