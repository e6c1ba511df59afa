#include <utility>

#include "engine/api/answer_writer.h"

namespace kantha::api {
namespace {

std::string data_event(const std::string& json) { return "data: " + json + "\n\n"; }

/// StreamWriter's JSON as server-sent events.
class OpenAiAnswer final : public AnswerWriter {
 public:
  explicit OpenAiAnswer(AnswerPlan plan)
      : is_chat_(plan.head.api == ApiKind::kChat),
        tells_usage_(plan.options.include_usage),
        writer_(std::move(plan.head), plan.options) {}

  void begin_text(std::int32_t index, std::int64_t offset) override {
    writer_.begin_text(index, offset);
  }
  std::string opening(std::int32_t index, const Usage&) override {
    return is_chat_ ? data_event(writer_.role(index)) : std::string();
  }
  std::string delta(const Delta& delta) override { return data_event(writer_.delta(delta)); }
  std::string finish(const Ending& ending) override {
    return data_event(writer_.finish(ending.index, ending.reason, ending.rest));
  }
  std::string end(const Usage& usage, const AnswerTimes&) override {
    const std::string last = tells_usage_ ? data_event(writer_.usage(usage)) : std::string();
    return last + data_event("[DONE]");
  }
  std::string failure(const Error& error) override { return data_event(error_body(error)); }
  std::string keep_alive() override { return ": waiting\n\n"; }
  std::string whole(const std::vector<Choice>& choices, const Usage& usage,
                    const AnswerTimes&) override {
    return writer_.whole(choices, usage);
  }

 private:
  bool is_chat_;
  bool tells_usage_;
  StreamWriter writer_;
};

}  // namespace

const AnswerApi kOpenAiAnswers{.make_writer = [](AnswerPlan plan) -> std::unique_ptr<AnswerWriter> {
                                 return std::make_unique<OpenAiAnswer>(std::move(plan));
                               },
                               .make_error = &to_http_error,
                               .names = {}};

std::string renamed_id(const std::string& id, std::string_view prefix) {
  return std::string(prefix) + id.substr(id.find('-') + 1);
}

std::string renamed_call_id(const std::string& id, std::string_view prefix) {
  constexpr std::string_view kOurs = "call_";
  return std::string(prefix) + (id.starts_with(kOurs) ? id.substr(kOurs.size()) : id);
}

OrderedJson arguments_object(const std::string& arguments) {
  if (arguments.empty()) return OrderedJson::object();
  auto parsed = parse_ordered_json(arguments);
  if (parsed.ok() && parsed->is_object()) return *std::move(parsed);
  OrderedJson object;
  object["unparsed"] = arguments;
  return object;
}

std::string named_event(std::string_view name, const OrderedJson& json) {
  std::string event = "event: ";
  return event.append(name).append("\ndata: ").append(dump_json(json)).append("\n\n");
}

HttpError http_error_with(const Error& error, const OrderedJson& body) {
  HttpError answer = to_http_error(error);
  answer.body = dump_json(body);
  return answer;
}

}  // namespace kantha::api
