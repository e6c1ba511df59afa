#include "engine/api/messages_request.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kantha::api {
namespace {

constexpr std::size_t kMessagesMax = 10'000;
constexpr std::size_t kBlocksMax = 10'000;
constexpr std::size_t kStopsMax = 16;

/// What one message of the client becomes.
struct Turn {
  std::string text;
  bool has_text = false;
  std::string reasoning = {};    ///< the assistant's, which some templates show again
  Json calls = Json::array();    ///< the assistant's tool_calls
  Json results = Json::array();  ///< messages of role tool

  void add_text(const std::string& piece) {
    if (std::exchange(has_text, true)) text += '\n';
    text += piece;
  }
};

Status add_tool_use(const JsonFields& block, Turn& turn) {
  TRY(const auto id, block.string("id"));
  if (!id) return missing_field(block.path_of("id"));
  TRY(const auto name, block.string("name"));
  if (!name) return missing_field(block.path_of("name"));
  TRY(const auto input, block.object("input"));
  if (!input) return missing_field(block.path_of("input"));
  Json call{{"id", *id}, {"type", "function"}};
  call["function"] = {{"name", *name}, {"arguments", dump_json(*block.find("input"))}};
  turn.calls.push_back(std::move(call));
  return ok_status();
}

Status add_tool_result(const JsonFields& block, Turn& turn) {
  TRY(const auto id, block.string("tool_use_id"));
  if (!id) return missing_field(block.path_of("tool_use_id"));
  TRY([[maybe_unused]] const auto is_error, block.boolean("is_error"));
  std::string text;
  if (const Json* content = block.find("content")) {
    TRY(text, read_text_blocks(*content, block.path_of("content"), {"text"}));
  }
  turn.results.push_back({{"role", "tool"}, {"tool_call_id", *id}, {"content", std::move(text)}});
  return ok_status();
}

Status add_block(const Json& json, const std::string& path, bool is_user, Turn& turn) {
  const JsonFields block(json, path);
  TRY_OK(block.check_object());
  TRY(const auto type, block.string("type"));
  if (!type) return missing_field(block.path_of("type"));
  if (*type == "text") {
    TRY(const auto text, block.string("text"));
    if (!text) return missing_field(block.path_of("text"));
    turn.add_text(*text);
    return ok_status();
  }
  if (!is_user && *type == "tool_use") return add_tool_use(block, turn);
  if (is_user && *type == "tool_result") return add_tool_result(block, turn);
  if (!is_user && *type == "thinking") {
    TRY(const auto thinking, block.string("thinking"));
    if (!thinking) return missing_field(block.path_of("thinking"));
    turn.reasoning += *thinking;
    return ok_status();
  }
  if (!is_user && *type == "redacted_thinking") return ok_status();
  return not_supported(block.path_of("type"), "content of type \"" + type->substr(0, 64) + "\"");
}

Status read_turn(const JsonFields& message, bool is_user, Turn& turn) {
  const std::string path = message.path_of("content");
  const Json* content = message.find("content");
  if (content == nullptr) return missing_field(path);
  if (content->is_string()) {
    turn.add_text(content->get<std::string>());
    return ok_status();
  }
  if (!content->is_array()) return wrong_type(path, "a string or an array of blocks", *content);
  if (content->size() > kBlocksMax) {
    return invalid_argument(
        path + ": expected at most 10000 blocks, got " + std::to_string(content->size()), path);
  }
  for (std::size_t i = 0; i < content->size(); ++i) {
    TRY_OK(add_block((*content)[i], path + "[" + std::to_string(i) + "]", is_user, turn));
  }
  return ok_status();
}

/// Claude Code's bill, which is another one in each request: shown to the model it would say
/// nothing and keep every prompt out of the cache.
bool is_billing(std::string_view text) { return text.starts_with("x-anthropic-billing-header:"); }

/// The texts of a system prompt, each block a line of its own.
Result<std::string> read_system(const Json& content, const std::string& path) {
  if (!content.is_array()) {
    TRY(std::string text, read_text_blocks(content, path, {"text"}));
    return is_billing(text) ? std::string() : text;
  }
  TRY_OK(read_text_blocks(content, path, {"text"}));
  Json shown = Json::array();
  for (const Json& block : content) {
    if (!is_billing(block.at("text").get_ref<const std::string&>())) shown.push_back(block);
  }
  return read_text_blocks(shown, path, {"text"});
}

void add_line(const std::string& text, std::string& lines) {
  if (!lines.empty() && !text.empty()) lines += '\n';
  lines += text;
}

/// `system` gathers what clients say there as messages, where their API does not have it.
Status add_message(const Json& json, const std::string& path, std::string& system, Json& messages) {
  const JsonFields message(json, path);
  TRY_OK(message.check_object());
  TRY(const auto role, message.string("role"));
  if (!role) return missing_field(message.path_of("role"));
  if (*role == "system") {
    const Json* content = message.find("content");
    if (content == nullptr) return missing_field(message.path_of("content"));
    TRY(const std::string text, read_system(*content, message.path_of("content")));
    add_line(text, system);
    return ok_status();
  }
  if (*role != "user" && *role != "assistant") {
    return invalid_argument(message.path_of("role") + ": expected user or assistant, got " +
                                dump_json(Json(role->substr(0, 64))),
                            message.path_of("role"));
  }
  const bool is_user = *role == "user";
  Turn turn;
  TRY_OK(read_turn(message, is_user, turn));
  for (Json& result : turn.results) messages.push_back(std::move(result));
  if (is_user && !turn.has_text && !turn.results.empty()) return ok_status();
  Json entry{{"role", *role}, {"content", std::move(turn.text)}};
  if (!turn.calls.empty()) entry["tool_calls"] = std::move(turn.calls);
  if (!turn.reasoning.empty()) entry["reasoning_content"] = std::move(turn.reasoning);
  messages.push_back(std::move(entry));
  return ok_status();
}

Result<Json> read_messages(const JsonFields& fields) {
  Json messages = Json::array();
  std::string system;
  if (const Json* given = fields.find("system")) {
    TRY(system, read_system(*given, fields.path_of("system")));
  }
  TRY(const Json* const array, fields.array("messages", kMessagesMax));
  const std::string path = fields.path_of("messages");
  if (array == nullptr) return missing_field(path);
  if (array->empty()) {
    return invalid_argument(path + ": expected at least one message, got none", path);
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    TRY_OK(add_message((*array)[i], path + "[" + std::to_string(i) + "]", system, messages));
  }
  if (messages.empty()) return invalid_argument(path + ": has no turn of the user's", path);
  if (!system.empty()) {
    messages.insert(messages.begin(), Json{{"role", "system"}, {"content", std::move(system)}});
  }
  if (array->back().value("role", "") != "assistant") return messages;
  return not_supported(path + "[" + std::to_string(array->size() - 1) + "]",
                       "a last message of the assistant's, which the answer would go on with,");
}

/// Tools that the provider itself would run do not exist here.
Result<Json> function_of(const JsonFields& tool) {
  TRY(const auto type, tool.string("type"));
  if (type && *type != "custom") {
    return not_supported(tool.path_of("type"), "a tool of type \"" + type->substr(0, 64) + "\"");
  }
  TRY(const auto schema, tool.object("input_schema"));
  if (!schema) return missing_field(tool.path_of("input_schema"));
  Json function = Json::object();
  copy_fields(tool, {"name", "description", "strict"}, function);
  function["parameters"] = *tool.find("input_schema");
  return function;
}

Status translate_tool_choice(const JsonFields& fields, Json& chat) {
  TRY(const auto choice, fields.object("tool_choice"));
  if (!choice) return ok_status();
  TRY(const auto type, choice->string("type"));
  TRY(const auto alone, choice->boolean("disable_parallel_tool_use"));
  if (!chat.contains("tools")) return ok_status();
  if (alone) chat["parallel_tool_calls"] = !*alone;
  if (type == "auto" || type == "none") {
    chat["tool_choice"] = *type;
  } else if (type == "any") {
    chat["tool_choice"] = "required";
  } else if (type == "tool") {
    TRY(const auto name, choice->string("name"));
    if (!name) return missing_field(choice->path_of("name"));
    chat["tool_choice"] = {{"type", "function"}, {"function", {{"name", *name}}}};
  } else {
    return invalid_argument(choice->path_of("type") + ": expected auto, any, tool or none",
                            choice->path_of("type"));
  }
  return ok_status();
}

/// Whether the model reasons, where its template can say so, and for how many tokens. False: it
/// shall not.
Result<bool> translate_thinking(const JsonFields& fields, const RequestLimits& limits, Json& chat) {
  TRY(const auto thinking, fields.object("thinking"));
  if (!thinking) return true;
  TRY(const auto type, thinking->string("type"));
  if (type != "enabled" && type != "adaptive" && type != "disabled") {
    return invalid_argument(thinking->path_of("type") + ": expected enabled, adaptive or disabled",
                            thinking->path_of("type"));
  }
  set_thinking(type != "disabled", chat);
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  TRY(const auto budget, thinking->integer("budget_tokens", 1, kMax));
  if (type == "enabled" && budget) {
    chat["thinking_token_budget"] = std::min<std::int64_t>(*budget, limits.context_max);
  }
  return type != "disabled";
}

/// Wishes that would change the answer and that nobody here grants.
Status check_unsupported(const JsonFields& fields) {
  for (const char* name : {"mcp_servers", "container", "context_management"}) {
    const Json* value = fields.find(name);
    if (value != nullptr && !value->empty()) return not_supported(name);
  }
  return ok_status();
}

/// A format as the chat's response_format; errors name it as the client did.
Status translate_format(const JsonFields& format, Json& chat) {
  TRY(const auto type, format.string("type"));
  if (!type) return missing_field(format.path_of("type"));
  if (*type != "json_schema") {
    return not_supported(format.path_of("type"), "\"" + type->substr(0, 64) + "\"");
  }
  TRY(const auto schema, format.object("schema"));
  if (!schema) return missing_field(format.path_of("schema"));
  chat["response_format"] = {{"type", "json_schema"},
                             {"json_schema", {{"schema", *format.find("schema")}}}};
  return ok_status();
}

/// How hard the model tries and what its answer looks like; `output_format` is an older name of the
/// latter. Effort is nothing to a model that shall not think.
Status translate_output(const JsonFields& fields, bool thinks, Json& chat) {
  TRY(const auto older, fields.object("output_format"));
  if (older) TRY_OK(translate_format(*older, chat));
  TRY(const auto config, fields.object("output_config"));
  if (!config) return ok_status();
  TRY(const auto format, config->object("format"));
  if (format && older) {
    return invalid_argument("output_config.format: output_format says it already",
                            "output_config.format");
  }
  if (format) TRY_OK(translate_format(*format, chat));
  TRY(const auto effort, config->string("effort"));
  if (effort && thinks) chat["reasoning_effort"] = *effort;
  return ok_status();
}

Status copy_sampling(const JsonFields& fields, Json& chat) {
  TRY_OK(copy_shared_fields(fields, chat));
  copy_fields(fields, {"temperature", "top_p", "top_k", "stream"}, chat);
  TRY(const auto stops, fields.strings("stop_sequences", kStopsMax));
  if (stops && !stops->empty()) chat["stop"] = *stops;
  // Its tiers (auto, standard_only) change nothing here; OpenAI's flex is not among them.
  TRY([[maybe_unused]] const auto tier, fields.string("service_tier"));
  TRY([[maybe_unused]] const auto metadata, fields.object("metadata"));
  return ok_status();
}

Result<TranslatedRequest> read_request(const Json& body, const RequestLimits& limits,
                                       bool generates) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  Json chat = Json::object();
  TRY_OK(copy_sampling(fields, chat));
  if (generates) {
    if (fields.find("max_tokens") == nullptr) return missing_field("max_tokens");
    TRY_OK(copy_output_limit(fields, "max_tokens", limits, chat));
  }
  TRY_OK(check_unsupported(fields));
  TRY(const bool thinks, translate_thinking(fields, limits, chat));
  TRY_OK(translate_output(fields, thinks, chat));
  TRY_OK(translate_tools(fields, &function_of, chat));
  TRY_OK(translate_tool_choice(fields, chat));
  TRY(chat["messages"], read_messages(fields));
  return read_translated(chat, limits, /*clamps=*/true);
}

}  // namespace

Result<TranslatedRequest> read_messages_request(const Json& body, const RequestLimits& limits) {
  return read_request(body, limits, /*generates=*/true);
}

Result<TranslatedRequest> read_count_tokens_request(const Json& body, const RequestLimits& limits) {
  return read_request(body, limits, /*generates=*/false);
}

}  // namespace kantha::api
