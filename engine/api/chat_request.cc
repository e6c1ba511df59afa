#include "engine/api/chat_request.h"

#include <algorithm>
#include <array>

#include "engine/api/openai_error.h"
#include "engine/api/request_support.h"

namespace kantha::api {
namespace {

constexpr std::size_t kMessagesMax = 10'000;
constexpr std::size_t kPartsMax = 10'000;
constexpr std::size_t kToolCallsMax = 128;
constexpr std::int64_t kTopLogprobsMax = 20;

/// Text of one content part. Only text is understood; "refusal" is an assistant's text of its own.
Result<std::string> read_part(const Json& json, const std::string& path) {
  const JsonFields part(json, path);
  TRY_OK(part.check_object());
  TRY(const auto type, part.string("type"));
  if (!type) return missing_field(part.path_of("type"));
  if (*type != "text") {
    Error error = unimplemented(
        part.path_of("type") + ": content of type \"" + *type + "\" is not supported yet",
        part.path_of("type"));
    error.reason = kReasonUnsupported;
    return error;
  }
  TRY(auto text, part.string("text"));
  if (!text) return missing_field(part.path_of("text"));
  return *std::move(text);
}

Result<std::string> read_parts(const Json& parts, const std::string& path) {
  if (parts.empty() || parts.size() > kPartsMax) {
    return invalid_argument(
        path + ": expected 1 to 10000 parts, got " + std::to_string(parts.size()), path);
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    TRY(const std::string piece, read_part(parts[i], path + "[" + std::to_string(i) + "]"));
    if (i > 0) text += '\n';
    text += piece;
  }
  return text;
}

Result<std::string> read_content(const JsonFields& message, const std::string& role) {
  const std::string path = message.path_of("content");
  const Json* content = message.find("content");
  if (content == nullptr) {
    if (role == "assistant") return std::string();
    return missing_field(path);
  }
  if (content->is_string()) return content->get<std::string>();
  if (content->is_array()) return read_parts(*content, path);
  return wrong_type(path, "a string or an array of text parts", *content);
}

Result<std::string> read_role(const JsonFields& message) {
  static constexpr std::array<std::string_view, 5> kRoles{"system", "developer", "user",
                                                          "assistant", "tool"};
  TRY(auto role, message.string("role"));
  const std::string path = message.path_of("role");
  if (!role) return missing_field(path);
  if (std::ranges::find(kRoles, *role) == kRoles.end()) {
    return invalid_argument(path +
                                ": expected one of system, developer, user, assistant, tool, got " +
                                Json(*role).dump(-1, ' ', false, Json::error_handler_t::replace),
                            path);
  }
  // Templates know the word system only; OpenAI renamed it for some models.
  return *role == "developer" ? std::string("system") : *std::move(role);
}

/// An assistant's earlier calls are history: their shape is checked and the template shows them.
Result<OrderedJson> read_tool_calls(const JsonFields& message) {
  OrderedJson calls = OrderedJson::array();
  TRY(const Json* const array, message.array("tool_calls", kToolCallsMax));
  if (array == nullptr) return calls;
  const std::string path = message.path_of("tool_calls");
  for (std::size_t i = 0; i < array->size(); ++i) {
    const JsonFields call((*array)[i], path + "[" + std::to_string(i) + "]");
    TRY_OK(call.check_object());
    TRY(const auto id, call.string("id"));
    TRY(const auto function, call.object("function"));
    if (!function) return missing_field(call.path_of("function"));
    TRY(const auto name, function->string("name"));
    if (!name) return missing_field(function->path_of("name"));
    TRY(const auto arguments, function->string("arguments"));
    OrderedJson entry;
    entry["id"] = id.value_or("");
    entry["type"] = "function";
    entry["function"]["name"] = *name;
    entry["function"]["arguments"] = arguments.value_or("");
    calls.push_back(std::move(entry));
  }
  return calls;
}

/// An assistant's earlier reasoning, which some templates show again.
Result<std::optional<std::string>> read_reasoning(const JsonFields& message,
                                                  const std::string& role) {
  TRY(const auto content, message.string("reasoning_content"));
  TRY(const auto other, message.string("reasoning"));
  if (role != "assistant") return std::optional<std::string>();
  return content ? content : other;
}

Status read_message(const Json& json, const std::string& path, ChatRequest& request) {
  const JsonFields fields(json, path);
  TRY_OK(fields.check_object());
  OrderedJson message;
  TRY(const std::string role, read_role(fields));
  TRY(std::string content, read_content(fields, role));
  TRY(const auto name, fields.string("name"));
  TRY(const auto tool_call_id, fields.string("tool_call_id"));
  TRY(OrderedJson tool_calls, read_tool_calls(fields));
  TRY(const auto reasoning, read_reasoning(fields, role));
  request.content_bytes += static_cast<std::int64_t>(reasoning.value_or("").size());
  if (!tool_calls.empty()) {
    request.content_bytes += static_cast<std::int64_t>(dump_json(tool_calls).size());
  }
  request.content_bytes += static_cast<std::int64_t>(content.size() + name.value_or("").size());
  message["role"] = role;
  message["content"] = std::move(content);
  if (name) message["name"] = *name;
  if (tool_call_id) message["tool_call_id"] = *tool_call_id;
  if (reasoning) message["reasoning_content"] = *reasoning;
  if (!tool_calls.empty()) message["tool_calls"] = std::move(tool_calls);
  request.messages.push_back(std::move(message));
  return ok_status();
}

/// Names that the server itself gives to the template.
bool is_reserved(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kReserved{
      "messages", "tools", "add_generation_prompt", "bos_token", "eos_token"};
  return std::ranges::find(kReserved, name) != kReserved.end();
}

Status read_template_extra(const JsonFields& fields, OrderedJson& extra) {
  TRY(const auto object, fields.object("chat_template_kwargs"));
  if (!object) return ok_status();
  const std::string path = fields.path_of("chat_template_kwargs");
  for (const auto& [name, value] : fields.find("chat_template_kwargs")->items()) {
    const std::string place = path + "." + name;
    if (is_reserved(name)) return invalid_argument(place + ": is set by the server", place);
    if (value.is_structured()) return wrong_type(place, "a string, number, boolean or null", value);
    extra[name] = value;
  }
  return ok_status();
}

/// reasoning_effort is what templates know it as; what the client set itself stays.
void set_effort(ChatRequest& request) {
  const auto& effort = request.reasoning.effort;
  if (!effort) return;
  OrderedJson& extra = request.template_extra;
  if (!extra.contains("reasoning_effort")) extra["reasoning_effort"] = *effort;
  if (*effort == "none" && !extra.contains("enable_thinking")) extra["enable_thinking"] = false;
}

Status read_chat_logprobs(const JsonFields& fields, GenerationFields& request) {
  TRY(const auto logprobs, fields.boolean("logprobs"));
  TRY(const auto top, fields.integer("top_logprobs", 0, kTopLogprobsMax));
  if (logprobs.value_or(false)) {
    request.logprobs = static_cast<std::int32_t>(top.value_or(0));
    return ok_status();
  }
  if (top.value_or(0) == 0) return ok_status();
  const std::string path = fields.path_of("top_logprobs");
  return invalid_argument(path + ": only allowed when logprobs is true", path);
}

/// max_completion_tokens is the newer name of max_tokens; both may be there if they agree.
Status read_chat_max_tokens(const JsonFields& fields, const RequestLimits& limits,
                            GenerationFields& request) {
  TRY(const auto older, fields.integer("max_tokens", 1, limits.context_max));
  TRY(const auto newer, fields.integer("max_completion_tokens", 1, limits.context_max));
  if (older && newer && *older != *newer) {
    const std::string path = fields.path_of("max_completion_tokens");
    return invalid_argument(path + ": differs from max_tokens", path);
  }
  const auto chosen = newer ? newer : older;
  if (chosen) request.max_tokens = static_cast<std::int32_t>(*chosen);
  return ok_status();
}

}  // namespace

Status read_conversation(const JsonFields& fields, ChatRequest& request) {
  TRY(const Json* const messages, fields.array("messages", kMessagesMax));
  const std::string path = fields.path_of("messages");
  if (messages == nullptr) return missing_field(path);
  if (messages->empty()) {
    return invalid_argument(path + ": expected at least one message, got none", path);
  }
  for (std::size_t i = 0; i < messages->size(); ++i) {
    TRY_OK(read_message((*messages)[i], path + "[" + std::to_string(i) + "]", request));
  }
  TRY(request.tools, read_tool_fields(fields));
  if (request.tools.offered) {
    request.content_bytes += static_cast<std::int64_t>(dump_json(request.tools.listed).size());
  }
  TRY_OK(read_template_extra(fields, request.template_extra));
  TRY(const auto add_generation_prompt, fields.boolean("add_generation_prompt"));
  request.add_generation_prompt = add_generation_prompt.value_or(true);
  return ok_status();
}

Result<ChatRequest> read_chat_request(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  ChatRequest request;
  TRY(request.fields, read_generation_fields(fields, limits));
  TRY_OK(read_chat_max_tokens(fields, limits, request.fields));
  TRY_OK(read_chat_logprobs(fields, request.fields));
  TRY_OK(check_min_tokens(fields, request.fields));
  TRY_OK(check_supported(fields, ApiKind::kChat));
  TRY_OK(read_conversation(fields, request));
  TRY(request.reasoning, read_reasoning_fields(fields, limits.context_max));
  set_effort(request);
  return request;
}

}  // namespace kantha::api
