#include "engine/api/messages_answer.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "base/messages_error.h"

namespace kantha::api {
namespace {

OrderedJson error_json(const Error& error) {
  OrderedJson json;
  json["type"] = "error";
  json["error"]["type"] = messages_error_type(http_status(error));
  json["error"]["message"] = error.message;
  return json;
}

HttpError messages_error(const Error& error) { return http_error_with(error, error_json(error)); }

OrderedJson usage_json(const Usage& usage) {
  OrderedJson json;
  json["input_tokens"] = usage.prompt_tokens - usage.cached_tokens;
  json["cache_creation_input_tokens"] = 0;
  json["cache_read_input_tokens"] = usage.cached_tokens;
  json["output_tokens"] = usage.completion_tokens;
  return json;
}

class MessagesAnswer final : public AnswerWriter {
 public:
  explicit MessagesAnswer(AnswerPlan plan)
      : id_(renamed_id(plan.head.id, "msg_")), model_(std::move(plan.head.model)) {}

  std::string opening(std::int32_t, const Usage& usage) override;
  std::string delta(const Delta& delta) override;
  std::string finish(const Ending& ending) override;
  std::string end(const Usage& usage, const AnswerTimes&) override;
  std::string failure(const Error& error) override { return event(error_json(error)); }
  std::string keep_alive() override { return event(plain("ping")); }
  std::string whole(const std::vector<Choice>& choices, const Usage& usage,
                    const AnswerTimes&) override;

 private:
  static OrderedJson plain(const char* type) {
    OrderedJson json;
    json["type"] = type;
    return json;
  }
  static std::string event(const OrderedJson& json) {
    return named_event(json["type"].get_ref<const std::string&>(), json);
  }
  enum class Block : std::uint8_t { kNone, kThinking, kText, kToolUse };

  void note_end(std::string_view reason, std::string_view stop_string);
  std::string open(Block kind, const dialect::CallDelta& call = {});
  std::string close();
  std::string add(Block kind, const char* delta_type, const char* name, const std::string& text);
  OrderedJson message(OrderedJson content, const Usage& usage) const;

  std::string id_;
  std::string model_;
  Block block_ = Block::kNone;  ///< that is open
  std::int32_t blocks_ = 0;     ///< that were begun
  bool calls_ = false;
  OrderedJson stop_reason_ = nullptr;
  OrderedJson stop_sequence_ = nullptr;
};

void MessagesAnswer::note_end(std::string_view reason, std::string_view stop_string) {
  if (!stop_string.empty()) {
    stop_reason_ = "stop_sequence";
    stop_sequence_ = stop_string;
  } else if (reason == "length") {
    stop_reason_ = "max_tokens";
  } else {
    stop_reason_ = calls_ ? "tool_use" : "end_turn";
  }
}

OrderedJson MessagesAnswer::message(OrderedJson content, const Usage& usage) const {
  OrderedJson json;
  json["id"] = id_;
  json["type"] = "message";
  json["role"] = "assistant";
  json["model"] = model_;
  json["content"] = std::move(content);
  json["stop_reason"] = stop_reason_;
  json["stop_sequence"] = stop_sequence_;
  json["usage"] = usage_json(usage);
  return json;
}

OrderedJson tool_use(const dialect::CallDelta& call, OrderedJson input) {
  OrderedJson block;
  block["type"] = "tool_use";
  block["id"] = renamed_call_id(call.id, "toolu_");
  block["name"] = call.name;
  block["input"] = std::move(input);
  return block;
}

OrderedJson thinking(const std::string& text) {
  return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
}

OrderedJson text_block(const std::string& text) { return {{"type", "text"}, {"text", text}}; }

std::string MessagesAnswer::opening(std::int32_t, const Usage& usage) {
  OrderedJson start;
  start["type"] = "message_start";
  start["message"] = message(OrderedJson::array(), usage);
  return event(start);
}

/// Begins a block after the one that is open.
std::string MessagesAnswer::open(Block kind, const dialect::CallDelta& call) {
  const std::string bytes = close();
  block_ = kind;
  OrderedJson json = plain("content_block_start");
  json["index"] = blocks_++;
  json["content_block"] = kind == Block::kThinking ? thinking("")
                          : kind == Block::kText   ? text_block("")
                                                   : tool_use(call, OrderedJson::object());
  return bytes + event(json);
}

/// Clients wait for the signature of a thinking block, of which there is none here.
std::string MessagesAnswer::close() {
  const Block closed = std::exchange(block_, Block::kNone);
  if (closed == Block::kNone) return {};
  std::string bytes;
  if (closed == Block::kThinking) {
    OrderedJson signature = plain("content_block_delta");
    signature["index"] = blocks_ - 1;
    signature["delta"] = {{"type", "signature_delta"}, {"signature", ""}};
    bytes = event(signature);
  }
  OrderedJson json = plain("content_block_stop");
  json["index"] = blocks_ - 1;
  return bytes + event(json);
}

std::string MessagesAnswer::add(Block kind, const char* delta_type, const char* name,
                                const std::string& text) {
  if (text.empty()) return {};
  const std::string bytes = block_ == kind ? std::string() : open(kind);
  OrderedJson json = plain("content_block_delta");
  json["index"] = blocks_ - 1;
  json["delta"] = {{"type", delta_type}, {name, text}};
  return bytes + event(json);
}

std::string MessagesAnswer::delta(const Delta& delta) {
  std::string bytes = add(Block::kThinking, "thinking_delta", "thinking", delta.reasoning);
  bytes += add(Block::kText, "text_delta", "text", delta.text);
  for (const dialect::CallDelta& call : delta.calls) {
    calls_ = true;
    if (!call.id.empty()) bytes += open(Block::kToolUse, call);
    bytes += add(Block::kToolUse, "input_json_delta", "partial_json", call.arguments);
  }
  return bytes;
}

/// An answer without anything has one block without text, as clients read the first one.
std::string MessagesAnswer::finish(const Ending& ending) {
  note_end(ending.reason, ending.stop_string);
  const std::string bytes = blocks_ == 0 ? open(Block::kText) : std::string();
  return bytes + close();
}

std::string MessagesAnswer::end(const Usage& usage, const AnswerTimes&) {
  OrderedJson json;
  json["type"] = "message_delta";
  json["delta"]["stop_reason"] = stop_reason_;
  json["delta"]["stop_sequence"] = stop_sequence_;
  json["usage"] = usage_json(usage);
  return event(json) + event(plain("message_stop"));
}

std::string MessagesAnswer::whole(const std::vector<Choice>& choices, const Usage& usage,
                                  const AnswerTimes&) {
  const Choice& choice = choices.front();
  const Delta& answer = choice.answer;
  calls_ = !answer.calls.empty();
  note_end(choice.finish_reason, choice.stop_string);
  OrderedJson content = OrderedJson::array();
  if (!answer.reasoning.empty()) content.push_back(thinking(answer.reasoning));
  if (!answer.text.empty()) content.push_back(text_block(answer.text));
  for (const dialect::CallDelta& call : answer.calls) {
    content.push_back(tool_use(call, arguments_object(call.arguments)));
  }
  if (content.empty()) content.push_back(text_block(""));  // as in a stream
  return dump_json(message(std::move(content), usage));
}

constexpr std::array kNames{FieldName{"stop", "stop_sequences"},
                            FieldName{"thinking_token_budget", "thinking.budget_tokens"},
                            FieldName{"reasoning_effort", "output_config.effort"},
                            FieldName{"response_format.json_schema", "output_config.format"},
                            FieldName{"tool_choice.function", "tool_choice"},
                            FieldName{"tools[].function.parameters", "tools[].input_schema"},
                            FieldName{"tools[].function", "tools[]"}};

}  // namespace

const AnswerApi kMessagesAnswers{
    .make_writer = [](AnswerPlan plan) -> std::unique_ptr<AnswerWriter> {
      return std::make_unique<MessagesAnswer>(std::move(plan));
    },
    .make_error = &messages_error,
    .names = kNames};

OrderedJson count_tokens_json(std::int64_t tokens) {
  OrderedJson json;
  json["input_tokens"] = tokens;
  return json;
}

}  // namespace kantha::api
