#include "engine/dialect/conversation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/digest.h"

namespace kantha::dialect {
namespace {

constexpr std::size_t kShortIdBytes = 9;

bool is_short_id(const std::string& id) {
  return id.size() == kShortIdBytes && std::ranges::all_of(id, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
         });
}

void shorten_id(OrderedJson& object, const char* name) {
  const auto id = object.find(name);
  if (id != object.end() && id->is_string()) *id = short_call_id(id->get<std::string>());
}

/// The arguments as an object where they are one; history is not refused for a model's mistake.
void open_arguments(OrderedJson& call) {
  OrderedJson& arguments = call["function"]["arguments"];
  if (!arguments.is_string()) return;
  const auto& text = arguments.get_ref<const std::string&>();
  auto parsed = parse_ordered_json(text.empty() ? "{}" : text);
  if (parsed.ok() && parsed->is_object()) arguments = std::move(parsed).value();
}

void shape_message(const TemplateTraits& traits, OrderedJson& message) {
  if (traits.short_ids) shorten_id(message, "tool_call_id");
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return;
  for (OrderedJson& call : *calls) {
    if (traits.short_ids) shorten_id(call, "id");
    if (!traits.arguments_as_text) open_arguments(call);
  }
}

std::string description_of(const OrderedJson& tools) {
  std::string text =
      "You can call functions to help with the user's request. These are the functions, each with "
      "a JSON schema of its arguments:\n<tools>\n";
  for (const OrderedJson& tool : tools) text += dump_json(tool) + "\n";
  text +=
      "</tools>\nTo call a function, write its name and arguments as a JSON object between these "
      "marks, and one pair of marks for each call:\n<tool_call>\n{\"name\": \"the function's "
      "name\", \"arguments\": {\"argument\": \"value\"}}\n</tool_call>";
  return text;
}

void append(OrderedJson& message, const std::string& text, const char* joint) {
  std::string content = message.value("content", "");
  if (!content.empty()) content += joint;
  message["content"] = content + text;
}

void write_calls(OrderedJson& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return;
  const OrderedJson written = *calls;
  message.erase("tool_calls");
  for (OrderedJson call : written) {
    open_arguments(call);
    OrderedJson entry;
    entry["name"] = call["function"]["name"];
    entry["arguments"] = call["function"]["arguments"];
    append(message, "<tool_call>\n" + dump_json(entry) + "\n</tool_call>", "\n");
  }
}

/// Results are what the user says; several after each other are one turn.
void add_result(OrderedJson& messages, const OrderedJson& result, bool joins) {
  const std::string text = "<tool_response>\n" + result.value("content", "") + "\n</tool_response>";
  if (joins) return append(messages.back(), text, "\n");
  OrderedJson message;
  message["role"] = "user";
  message["content"] = text;
  messages.push_back(std::move(message));
}

OrderedJson written_out(const OrderedJson& messages, const OrderedJson& tools) {
  OrderedJson all = OrderedJson::array();
  const bool offered = tools.is_array() && !tools.empty();
  const bool has_system = messages[0].value("role", "") == "system";
  if (offered && !has_system) {
    OrderedJson system;
    system["role"] = "system";
    system["content"] = description_of(tools);
    all.push_back(std::move(system));
  }
  bool after_result = false;
  for (OrderedJson message : messages) {
    const bool is_result = message.value("role", "") == "tool";
    if (is_result) {
      add_result(all, message, std::exchange(after_result, true));
      continue;
    }
    after_result = false;
    write_calls(message);
    if (offered && has_system && all.empty()) append(message, description_of(tools), "\n\n");
    all.push_back(std::move(message));
  }
  return all;
}

}  // namespace

std::string short_call_id(const std::string& id) {
  return is_short_id(id) ? id : sha256_hex(id).substr(0, kShortIdBytes);
}

OrderedJson messages_for(const Dialect& dialect, const OrderedJson& messages,
                         const OrderedJson& tools) {
  if (dialect.own_prompt) return written_out(messages, tools);
  OrderedJson shaped = messages;
  for (OrderedJson& message : shaped) shape_message(dialect.traits, message);
  return shaped;
}

OrderedJson tools_for(const Dialect& dialect, const OrderedJson& tools) {
  if (dialect.own_prompt || !tools.is_array() || tools.empty()) return nullptr;
  return tools;
}

}  // namespace kantha::dialect
