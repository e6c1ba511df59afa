#include "engine/api/responses_answer.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/logprobs.h"

namespace kantha::api {
namespace {

OrderedJson usage_json(const Usage& usage) {
  OrderedJson json;
  json["input_tokens"] = usage.prompt_tokens;
  json["input_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  json["input_tokens_details"]["cache_write_tokens"] = 0;
  json["output_tokens"] = usage.completion_tokens;
  json["output_tokens_details"]["reasoning_tokens"] = usage.reasoning_tokens.value_or(0);
  json["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  return json;
}

/// What the answer consists of: stretches of reasoning and of text, and calls, in the order in
/// which they began. Only the last one is open.
struct Item {
  enum class Kind : std::uint8_t { kReasoning, kMessage, kCall };

  Kind kind = Kind::kMessage;
  std::string id;
  std::string text = {};  ///< of a call: its arguments
  std::string call_id = {};
  std::string name = {};
  OrderedJson scores = OrderedJson::array();
};

constexpr const char* prefix_of(Item::Kind kind) {
  if (kind == Item::Kind::kReasoning) return "rs_";
  return kind == Item::Kind::kMessage ? "msg_" : "fc_";
}

class ResponsesAnswer final : public AnswerWriter {
 public:
  explicit ResponsesAnswer(AnswerPlan plan)
      : head_(std::move(plan.head)),
        tells_scores_(plan.options.logprobs),
        told_(std::move(plan.told)),
        id_(renamed_id(head_.id, "resp_")) {}

  std::string opening(std::int32_t, const Usage&) override;
  std::string delta(const Delta& delta) override;
  std::string finish(const Ending& ending) override;
  std::string end(const Usage& usage, const AnswerTimes&) override;
  std::string failure(const Error& error) override;
  std::string keep_alive() override { return ": waiting\n\n"; }
  std::string whole(const std::vector<Choice>& choices, const Usage& usage,
                    const AnswerTimes&) override;

 private:
  OrderedJson begin_event(const char* type);
  OrderedJson item_event(const char* type);
  OrderedJson part_event(const char* type);
  static std::string text_of(const OrderedJson& event) {
    return named_event(event["type"].get_ref<const std::string&>(), event);
  }
  std::string response_event(const char* type, OrderedJson response);
  OrderedJson scores_json(const std::vector<ScoredToken>& scores) const;
  std::string add_text(Item::Kind kind, const std::string& text,
                       const std::vector<ScoredToken>& scores);
  std::string add_call(const dialect::CallDelta& call);
  std::string open(Item::Kind kind, const dialect::CallDelta& call = {});
  std::string close(bool whole);
  bool is_open(Item::Kind kind) const { return open_ && items_.back().kind == kind; }
  OrderedJson response(const char* status) const;
  OrderedJson finished(const Usage& usage) const;
  OrderedJson told(const char* name, OrderedJson otherwise) const;
  bool is_cut() const { return reason_ == "length"; }

  ReplyHead head_;
  bool tells_scores_;
  OrderedJson told_;
  std::string id_;
  std::int64_t sequence_number_ = 0;
  std::vector<Item> items_;
  bool open_ = false;  ///< the last item
  std::string reason_;
  bool opened_ = false;  ///< the response
};

/// The one part of a message or of reasoning.
OrderedJson part_json(const Item& item, bool whole) {
  OrderedJson part;
  const bool is_message = item.kind == Item::Kind::kMessage;
  part["type"] = is_message ? "output_text" : "reasoning_text";
  part["text"] = whole ? item.text : "";
  if (!is_message) return part;
  part["annotations"] = OrderedJson::array();
  part["logprobs"] = whole ? item.scores : OrderedJson::array();
  return part;
}

OrderedJson call_json(const Item& item, const char* status) {
  OrderedJson json;
  json["id"] = item.id;
  json["type"] = "function_call";
  json["status"] = status;
  json["call_id"] = item.call_id;
  json["name"] = item.name;
  json["arguments"] = std::string_view(status) == "in_progress" ? "" : item.text;
  return json;
}

OrderedJson item_json(const Item& item, const char* status) {
  if (item.kind == Item::Kind::kCall) return call_json(item, status);
  OrderedJson json;
  json["id"] = item.id;
  if (item.kind == Item::Kind::kReasoning) {
    json["type"] = "reasoning";
    json["summary"] = OrderedJson::array();
  } else {
    json["type"] = "message";
    json["role"] = "assistant";
  }
  json["status"] = status;
  json["content"] = OrderedJson::array();
  if (std::string_view(status) != "in_progress") {
    json["content"].push_back(part_json(item, /*whole=*/true));
  }
  return json;
}

OrderedJson ResponsesAnswer::begin_event(const char* type) {
  OrderedJson event;
  event["type"] = type;
  event["sequence_number"] = sequence_number_++;
  return event;
}

/// An event about the last item.
OrderedJson ResponsesAnswer::item_event(const char* type) {
  OrderedJson event = begin_event(type);
  event["item_id"] = items_.back().id;
  event["output_index"] = items_.size() - 1;
  return event;
}

/// And about its only part.
OrderedJson ResponsesAnswer::part_event(const char* type) {
  OrderedJson event = item_event(type);
  event["content_index"] = 0;
  return event;
}

std::string ResponsesAnswer::response_event(const char* type, OrderedJson response) {
  OrderedJson event = begin_event(type);
  event["response"] = std::move(response);
  return text_of(event);
}

OrderedJson ResponsesAnswer::told(const char* name, OrderedJson otherwise) const {
  const auto found = told_.find(name);
  return found == told_.end() ? std::move(otherwise) : *found;
}

OrderedJson ResponsesAnswer::scores_json(const std::vector<ScoredToken>& scores) const {
  if (!tells_scores_) return OrderedJson::array();
  return chat_logprobs(scores)["content"];
}

OrderedJson ResponsesAnswer::response(const char* status) const {
  OrderedJson format;
  format["format"]["type"] = "text";
  OrderedJson reasoning;
  reasoning["effort"] = nullptr;
  reasoning["summary"] = nullptr;
  reasoning.update(told("reasoning", OrderedJson::object()));
  OrderedJson json;
  json["id"] = id_;
  json["object"] = "response";
  json["created_at"] = head_.created;
  json["status"] = status;
  json["background"] = false;
  json["error"] = nullptr;
  json["incomplete_details"] = nullptr;
  json["instructions"] = told("instructions", nullptr);
  json["max_output_tokens"] = told("max_output_tokens", nullptr);
  json["model"] = head_.model;
  json["output"] = OrderedJson::array();
  json["parallel_tool_calls"] = told("parallel_tool_calls", true);
  json["previous_response_id"] = nullptr;
  json["prompt_cache_key"] = told("prompt_cache_key", nullptr);
  json["reasoning"] = std::move(reasoning);
  json["safety_identifier"] = told("safety_identifier", nullptr);
  json["store"] = false;
  json["temperature"] = told("temperature", 1.0);
  json["text"] = told("text", std::move(format));
  json["tool_choice"] = told("tool_choice", "auto");
  json["tools"] = told("tools", OrderedJson::array());
  json["top_logprobs"] = told("top_logprobs", 0);
  json["top_p"] = told("top_p", 1.0);
  json["truncation"] = "disabled";
  json["usage"] = nullptr;
  json["user"] = told("user", nullptr);
  json["metadata"] = told("metadata", OrderedJson::object());
  return json;
}

/// A cut answer's last item was cut.
OrderedJson ResponsesAnswer::finished(const Usage& usage) const {
  const char* status = is_cut() ? "incomplete" : "completed";
  OrderedJson json = response(status);
  if (is_cut()) json["incomplete_details"]["reason"] = "max_output_tokens";
  for (const Item& item : items_) {
    json["output"].push_back(item_json(item, &item == &items_.back() ? status : "completed"));
  }
  json["usage"] = usage_json(usage);
  return json;
}

std::string ResponsesAnswer::opening(std::int32_t, const Usage&) {
  opened_ = true;
  return response_event("response.created", response("in_progress")) +
         response_event("response.in_progress", response("in_progress"));
}

/// Begins an item after the one that is open.
std::string ResponsesAnswer::open(Item::Kind kind, const dialect::CallDelta& call) {
  std::string bytes = close(/*whole=*/true);
  const std::string number = items_.empty() ? "" : "_" + std::to_string(items_.size());
  items_.push_back({.kind = kind,
                    .id = renamed_id(head_.id, prefix_of(kind)) + number,
                    .call_id = call.id,
                    .name = call.name});
  open_ = true;
  OrderedJson added = begin_event("response.output_item.added");
  added["output_index"] = items_.size() - 1;
  added["item"] = item_json(items_.back(), "in_progress");
  bytes += text_of(added);
  if (kind == Item::Kind::kCall) return bytes;
  OrderedJson begun = part_event("response.content_part.added");
  begun["part"] = part_json(items_.back(), /*whole=*/false);
  return bytes + text_of(begun);
}

/// Ends the item that is open, if one is; `whole`: nothing cut it.
std::string ResponsesAnswer::close(bool whole) {
  if (!std::exchange(open_, false)) return {};
  const Item& item = items_.back();
  std::string bytes;
  if (item.kind == Item::Kind::kCall) {
    OrderedJson arguments = item_event("response.function_call_arguments.done");
    arguments["name"] = item.name;
    arguments["arguments"] = item.text;
    bytes = text_of(arguments);
  } else {
    const bool is_message = item.kind == Item::Kind::kMessage;
    OrderedJson text =
        part_event(is_message ? "response.output_text.done" : "response.reasoning_text.done");
    text["text"] = item.text;
    if (is_message) text["logprobs"] = item.scores;
    bytes = text_of(text);
    OrderedJson ended = part_event("response.content_part.done");
    ended["part"] = part_json(item, /*whole=*/true);
    bytes += text_of(ended);
  }
  OrderedJson done = begin_event("response.output_item.done");
  done["output_index"] = items_.size() - 1;
  done["item"] = item_json(item, whole ? "completed" : "incomplete");
  return bytes + text_of(done);
}

std::string ResponsesAnswer::add_text(Item::Kind kind, const std::string& text,
                                      const std::vector<ScoredToken>& scores) {
  std::string bytes = is_open(kind) ? std::string() : open(kind);
  const bool is_message = kind == Item::Kind::kMessage;
  OrderedJson event =
      part_event(is_message ? "response.output_text.delta" : "response.reasoning_text.delta");
  event["delta"] = text;
  Item& item = items_.back();
  item.text += text;
  if (is_message) {
    event["logprobs"] = scores_json(scores);
    for (const OrderedJson& score : event["logprobs"]) item.scores.push_back(score);
  }
  return bytes + text_of(event);
}

std::string ResponsesAnswer::add_call(const dialect::CallDelta& call) {
  std::string bytes;
  if (!call.id.empty()) bytes = open(Item::Kind::kCall, call);
  if (call.arguments.empty() || !is_open(Item::Kind::kCall)) return bytes;
  OrderedJson event = item_event("response.function_call_arguments.delta");
  event["delta"] = call.arguments;
  items_.back().text += call.arguments;
  return bytes + text_of(event);
}

std::string ResponsesAnswer::delta(const Delta& delta) {
  std::string bytes;
  if (!delta.reasoning.empty()) bytes += add_text(Item::Kind::kReasoning, delta.reasoning, {});
  const bool scored = !delta.scores.empty() && delta.reasoning.empty() && delta.calls.empty();
  if (!delta.text.empty() || scored) {
    bytes += add_text(Item::Kind::kMessage, delta.text, delta.scores);
  }
  for (const dialect::CallDelta& call : delta.calls) bytes += add_call(call);
  return bytes;
}

/// An answer without anything is one message without text.
std::string ResponsesAnswer::finish(const Ending& ending) {
  reason_ = ending.reason;
  const std::string bytes = items_.empty() ? open(Item::Kind::kMessage) : std::string();
  return bytes + close(!is_cut());
}

std::string ResponsesAnswer::end(const Usage& usage, const AnswerTimes&) {
  return response_event(is_cut() ? "response.incomplete" : "response.completed", finished(usage));
}

std::string ResponsesAnswer::failure(const Error& error) {
  OrderedJson json = response("failed");
  const bool ours = http_status(error) >= 500;
  json["error"]["code"] = ours ? "server_error" : "invalid_prompt";
  json["error"]["message"] = error.message;
  std::string bytes;
  if (!opened_) bytes = response_event("response.created", response("in_progress"));
  return bytes + response_event("response.failed", std::move(json));
}

std::string ResponsesAnswer::whole(const std::vector<Choice>& choices, const Usage& usage,
                                   const AnswerTimes&) {
  const Choice& choice = choices.front();
  delta(choice.answer);
  finish({.reason = choice.finish_reason});
  return dump_json(finished(usage));
}

constexpr std::array kNames{FieldName{"max_tokens", "max_output_tokens"},
                            FieldName{"messages", "input"},
                            FieldName{"response_format.json_schema", "text.format"},
                            FieldName{"response_format", "text.format"},
                            FieldName{"verbosity", "text.verbosity"},
                            FieldName{"reasoning_effort", "reasoning.effort"},
                            FieldName{"tool_choice.function", "tool_choice"},
                            FieldName{"tools[].function", "tools[]"}};

}  // namespace

const AnswerApi kResponsesAnswers{
    .make_writer = [](AnswerPlan plan) -> std::unique_ptr<AnswerWriter> {
      return std::make_unique<ResponsesAnswer>(std::move(plan));
    },
    .make_error = &to_http_error,
    .names = kNames};

}  // namespace kantha::api
