#include "engine/api/responses_request.h"

#include <array>
#include <string>
#include <utility>

namespace kantha::api {
namespace {

constexpr std::size_t kItemsMax = 10'000;
constexpr std::size_t kIncludesMax = 32;

Error missing_in(const JsonFields& fields, std::string_view name) {
  return missing_field(fields.path_of(name));
}

/// Reasoning of an earlier turn waits for the message or the call that it led to.
using Reasoning = std::string;

Json assistant(std::string content, Reasoning& reasoning) {
  Json message{{"role", "assistant"}, {"content", std::move(content)}};
  if (!reasoning.empty()) message["reasoning_content"] = std::exchange(reasoning, {});
  return message;
}

Status add_message(const JsonFields& item, Json& messages, Reasoning& reasoning) {
  TRY(const auto role, item.string("role"));
  if (!role) return missing_in(item, "role");
  if (*role != "user" && *role != "assistant" && *role != "system" && *role != "developer") {
    return invalid_argument(item.path_of("role") +
                                ": expected one of user, assistant, system, developer, got " +
                                dump_json(Json(role->substr(0, 64))),
                            item.path_of("role"));
  }
  const Json* content = item.find("content");
  if (content == nullptr) return missing_in(item, "content");
  TRY(std::string text, read_text_blocks(*content, item.path_of("content"),
                                         {"input_text", "output_text", "text", "refusal"}));
  if (*role == "assistant") {
    messages.push_back(assistant(std::move(text), reasoning));
    return ok_status();
  }
  reasoning.clear();
  messages.push_back({{"role", *role}, {"content", std::move(text)}});
  return ok_status();
}

/// Calls that follow one another, or an assistant's message, are one message of the chat's.
Status add_call(const JsonFields& item, Json& messages, Reasoning& reasoning) {
  TRY(const auto id, item.string("call_id"));
  if (!id) return missing_in(item, "call_id");
  TRY(const auto name, item.string("name"));
  if (!name) return missing_in(item, "name");
  TRY(const auto arguments, item.string("arguments"));
  if (!arguments) return missing_in(item, "arguments");
  if (messages.empty() || messages.back()["role"] != "assistant") {
    messages.push_back(assistant("", reasoning));
  }
  Json call{{"id", *id}, {"type", "function"}};
  call["function"] = {{"name", *name}, {"arguments", *arguments}};
  messages.back()["tool_calls"].push_back(std::move(call));
  return ok_status();
}

Status add_call_output(const JsonFields& item, Json& messages) {
  TRY(const auto id, item.string("call_id"));
  if (!id) return missing_in(item, "call_id");
  const Json* output = item.find("output");
  if (output == nullptr) return missing_in(item, "output");
  TRY(std::string text,
      read_text_blocks(*output, item.path_of("output"), {"input_text", "output_text", "text"}));
  messages.push_back({{"role", "tool"}, {"tool_call_id", *id}, {"content", std::move(text)}});
  return ok_status();
}

/// The model's own words, where there are any: what is encrypted or summed up elsewhere is not.
Status add_reasoning(const JsonFields& item, Reasoning& reasoning) {
  const Json* content = item.find("content");
  if (content == nullptr) return ok_status();
  TRY(reasoning, read_text_blocks(*content, item.path_of("content"), {"reasoning_text", "text"}));
  return ok_status();
}

Status add_item(const Json& json, const std::string& path, Json& messages, Reasoning& reasoning) {
  const JsonFields item(json, path);
  TRY_OK(item.check_object());
  TRY(const auto type, item.string("type"));
  if (!type || *type == "message") return add_message(item, messages, reasoning);
  if (*type == "function_call") return add_call(item, messages, reasoning);
  if (*type == "function_call_output") return add_call_output(item, messages);
  if (*type == "reasoning") return add_reasoning(item, reasoning);
  return not_supported(item.path_of("type"), "an item of type \"" + type->substr(0, 64) + "\"");
}

Result<Json> read_input(const JsonFields& fields) {
  Json messages = Json::array();
  TRY(auto instructions, fields.string("instructions"));
  if (instructions && !instructions->empty()) {
    messages.push_back({{"role", "system"}, {"content", *std::move(instructions)}});
  }
  const std::string path = fields.path_of("input");
  const Json* input = fields.find("input");
  if (input == nullptr) return missing_field(path);
  if (input->is_string()) {
    messages.push_back({{"role", "user"}, {"content", *input}});
    return messages;
  }
  if (!input->is_array()) return wrong_type(path, "a string or an array of items", *input);
  if (input->empty() || input->size() > kItemsMax) {
    return invalid_argument(
        path + ": expected 1 to 10000 items, got " + std::to_string(input->size()), path);
  }
  Reasoning reasoning;
  for (std::size_t i = 0; i < input->size(); ++i) {
    TRY_OK(add_item((*input)[i], path + "[" + std::to_string(i) + "]", messages, reasoning));
  }
  if (messages.empty()) return invalid_argument(path + ": has no message", path);
  return messages;
}

/// text.format as the chat's response_format.
Status translate_text(const JsonFields& fields, Json& chat) {
  TRY(const auto text, fields.object("text"));
  if (!text) return ok_status();
  copy_fields(*text, {"verbosity"}, chat);
  TRY(const auto format, text->object("format"));
  if (!format) return ok_status();
  TRY(const auto type, format->string("type"));
  if (!type) return missing_in(*format, "type");
  if (*type != "json_schema") {
    chat["response_format"] = {{"type", *type}};
    return ok_status();
  }
  Json schema = Json::object();
  copy_fields(*format, {"name", "description", "schema", "strict"}, schema);
  chat["response_format"] = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
  return ok_status();
}

Result<Json> function_of(const JsonFields& tool) {
  TRY(const auto type, tool.string("type"));
  if (!type) return missing_in(tool, "type");
  if (*type != "function") {
    return not_supported(tool.path_of("type"), "a tool of type \"" + type->substr(0, 64) + "\"");
  }
  Json function = Json::object();
  copy_fields(tool, {"name", "description", "parameters", "strict"}, function);
  return function;
}

Status translate_tool_choice(const JsonFields& fields, Json& chat) {
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr || !chat.contains("tools")) return ok_status();
  chat["tool_choice"] = *choice;
  if (!choice->is_object()) return ok_status();
  const JsonFields named(*choice, fields.path_of("tool_choice"));
  TRY(const auto type, named.string("type"));
  if (type != "function") return not_supported(named.path_of("type"));
  TRY(const auto name, named.string("name"));
  if (!name) return missing_in(named, "name");
  chat["tool_choice"] = {{"type", "function"}, {"function", {{"name", *name}}}};
  return ok_status();
}

/// What is told besides the text.
Status translate_include(const JsonFields& fields, Json& chat) {
  TRY(const auto top, fields.integer("top_logprobs", 0, 20));
  TRY(const auto include, fields.strings("include", kIncludesMax));
  bool scores = false;
  for (const std::string& wish : include.value_or(std::vector<std::string>())) {
    if (wish == "message.output_text.logprobs") {
      scores = true;
    } else if (wish != "reasoning.encrypted_content") {
      return not_supported(fields.path_of("include"), "\"" + wish.substr(0, 64) + "\"");
    }
  }
  if (!scores) return ok_status();
  chat["logprobs"] = true;
  chat["top_logprobs"] = top.value_or(0);
  return ok_status();
}

/// Fields that mean something stored, or a service that is not here.
Status check_unsupported(const JsonFields& fields) {
  for (const char* name :
       {"previous_response_id", "conversation", "prompt", "context_management"}) {
    if (fields.find(name) != nullptr) return not_supported(name);
  }
  TRY(const auto background, fields.boolean("background"));
  if (background.value_or(false)) return not_supported("background");
  TRY(const auto truncation, fields.string("truncation"));
  if (truncation && *truncation != "disabled") return not_supported("truncation");
  TRY([[maybe_unused]] const auto store, fields.boolean("store"));
  TRY([[maybe_unused]] const auto calls, fields.integer("max_tool_calls", 1, 1 << 20));
  TRY(const auto reasoning, fields.object("reasoning"));
  return ok_status();
}

Status copy_sampling(const JsonFields& fields, const RequestLimits& limits, Json& chat) {
  TRY_OK(copy_shared_fields(fields, chat));
  copy_fields(fields,
              {"temperature", "top_p", "top_k", "stream", "stream_options", "user", "metadata",
               "service_tier", "safety_identifier", "prompt_cache_key", "presence_penalty",
               "frequency_penalty"},
              chat);
  TRY(const auto reasoning, fields.object("reasoning"));
  if (reasoning && reasoning->find("effort") != nullptr) {
    chat["reasoning_effort"] = *reasoning->find("effort");
  }
  return copy_output_limit(fields, "max_output_tokens", limits, chat);
}

OrderedJson repeated(const JsonFields& fields) {
  static constexpr std::array kRepeated{"instructions",
                                        "max_output_tokens",
                                        "metadata",
                                        "temperature",
                                        "top_p",
                                        "top_logprobs",
                                        "user",
                                        "text",
                                        "tools",
                                        "tool_choice",
                                        "parallel_tool_calls",
                                        "reasoning",
                                        "safety_identifier",
                                        "prompt_cache_key"};
  OrderedJson told = OrderedJson::object();
  for (const char* name : kRepeated) {
    if (const Json* value = fields.find(name)) told[name] = *value;
  }
  return told;
}

}  // namespace

Result<TranslatedRequest> read_responses_request(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  Json chat = Json::object();
  TRY_OK(check_unsupported(fields));
  TRY_OK(copy_sampling(fields, limits, chat));
  TRY_OK(translate_include(fields, chat));
  TRY_OK(translate_text(fields, chat));
  TRY_OK(translate_tools(fields, &function_of, chat));
  if (chat.contains("tools")) copy_fields(fields, {"parallel_tool_calls"}, chat);
  TRY_OK(translate_tool_choice(fields, chat));
  TRY(chat["messages"], read_input(fields));
  TRY(TranslatedRequest request, read_translated(chat, limits, /*clamps=*/true));
  request.told = repeated(fields);
  return request;
}

}  // namespace kantha::api
