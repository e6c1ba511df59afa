#include "engine/api/ollama_request.h"

#include <array>
#include <limits>
#include <utility>

namespace kantha::api {
namespace {

constexpr std::size_t kMessagesMax = 10'000;
constexpr std::size_t kImagesMax = 1'000;
constexpr std::size_t kToolCallsMax = 128;
constexpr std::size_t kContextMax = 1u << 20;

/// Their name of a sampling option and the chat API's.
constexpr std::array kOptions{
    FieldName{"temperature", "temperature"},
    FieldName{"top_p", "top_p"},
    FieldName{"top_k", "top_k"},
    FieldName{"min_p", "min_p"},
    FieldName{"typical_p", "typical_p"},
    FieldName{"seed", "seed"},
    FieldName{"stop", "stop"},
    FieldName{"presence_penalty", "presence_penalty"},
    FieldName{"frequency_penalty", "frequency_penalty"},
    FieldName{"repetition_penalty", "repeat_penalty"},
};

/// A name without the tag that their clients add when there is none.
std::string without_latest(std::string name) {
  constexpr std::string_view kTag = ":latest";
  if (name.size() > kTag.size() && name.ends_with(kTag)) name.resize(name.size() - kTag.size());
  return name;
}

/// The penalty's reach: ours counts the whole of prompt and output, which they call -1.
Status check_reach(const JsonFields& options, Json& chat) {
  TRY(const auto reach, options.integer("repeat_last_n", -1, std::numeric_limits<int>::max()));
  if (!reach || *reach == -1 || !chat.contains("repetition_penalty")) return ok_status();
  if (*reach == 0) {
    chat.erase("repetition_penalty");
    return ok_status();
  }
  if (chat["repetition_penalty"] == 1) return ok_status();
  return not_supported(options.path_of("repeat_last_n"), "a value other than -1 and 0");
}

Status copy_limit(const JsonFields& options, const RequestLimits& limits, Json& chat) {
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  TRY(const auto most, options.integer("num_predict", -2, kMax));
  if (!most || *most < 0) return ok_status();
  return copy_output_limit(options, "num_predict", limits, chat);
}

Status read_options(const JsonFields& fields, const RequestLimits& limits, Json& chat) {
  chat["temperature"] = 0.8;
  chat["top_k"] = 40;
  chat["top_p"] = 0.9;
  TRY(const auto options, fields.object("options"));
  if (!options) return ok_status();
  for (const FieldName& name : kOptions) {
    if (const Json* value = options->find(name.own)) chat[std::string(name.chat)] = *value;
  }
  for (const char* name : {"mirostat", "tfs_z"}) {
    TRY(const auto value, options->number(name, 0, 1e9));
    const double off = std::string_view(name) == "mirostat" ? 0 : 1;
    if (value && *value != off) return not_supported(options->path_of(name));
  }
  TRY_OK(check_reach(*options, chat));
  return copy_limit(*options, limits, chat);
}

/// "json", or a schema.
Status read_format(const JsonFields& fields, Json& chat) {
  const Json* format = fields.find("format");
  if (format == nullptr || *format == "") return ok_status();
  if (*format == "json") {
    chat["response_format"] = {{"type", "json_object"}};
    return ok_status();
  }
  if (!format->is_object()) {
    return wrong_type(fields.path_of("format"), "\"json\" or a JSON schema", *format);
  }
  Json schema{{"name", "format"}, {"schema", *format}};
  chat["response_format"] = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
  return ok_status();
}

/// Whether the model reasons, where its template can say so: true, false, or how much.
Status read_think(const JsonFields& fields, Json& chat) {
  const Json* think = fields.find("think");
  if (think == nullptr) return ok_status();
  if (!think->is_boolean() && !think->is_string()) {
    return wrong_type(fields.path_of("think"), "a boolean, low, medium or high", *think);
  }
  if (think->is_string()) chat["reasoning_effort"] = *think;
  set_thinking(think->is_string() || think->get<bool>(), chat);
  return ok_status();
}

/// What chat and generate share.
Result<Json> read_shared(const JsonFields& fields, const RequestLimits& limits) {
  Json chat = Json::object();
  TRY_OK(copy_shared_fields(fields, chat));
  TRY(auto model, fields.string("model"));
  if (model) chat["model"] = without_latest(*std::move(model));
  TRY(const auto stream, fields.boolean("stream"));
  chat["stream"] = stream.value_or(true);
  TRY_OK(read_options(fields, limits, chat));
  TRY_OK(read_format(fields, chat));
  copy_fields(fields, {"logprobs", "top_logprobs"}, chat);
  TRY_OK(read_think(fields, chat));
  return chat;
}

Status check_images(const JsonFields& fields) {
  TRY(const Json* const images, fields.array("images", kImagesMax));
  if (images == nullptr || images->empty()) return ok_status();
  return not_supported(fields.path_of("images"));
}

/// Their calls have no id, and arguments that are an object.
Result<Json> read_calls(const JsonFields& message) {
  Json calls = Json::array();
  TRY(const Json* const array, message.array("tool_calls", kToolCallsMax));
  if (array == nullptr) return calls;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const JsonFields call((*array)[i],
                          message.path_of("tool_calls") + "[" + std::to_string(i) + "]");
    TRY(const auto function, call.object("function"));
    if (!function) return missing_field(call.path_of("function"));
    TRY(const auto name, function->string("name"));
    if (!name) return missing_field(function->path_of("name"));
    TRY(const auto arguments, function->object("arguments"));
    const std::string text = arguments ? dump_json(*function->find("arguments")) : "{}";
    Json entry{{"id", "call_" + std::to_string(i)}, {"type", "function"}};
    entry["function"] = {{"name", *name}, {"arguments", text}};
    calls.push_back(std::move(entry));
  }
  return calls;
}

/// Their results name no call: they come in the calls' order, as read_calls counts them.
std::string result_id(const Json& messages) {
  std::size_t place = 0;
  for (auto m = messages.rbegin(); m != messages.rend() && (*m)["role"] == "tool"; ++m) ++place;
  return "call_" + std::to_string(place);
}

Status add_message(const Json& json, const std::string& path, Json& messages) {
  const JsonFields message(json, path);
  TRY_OK(message.check_object());
  TRY_OK(check_images(message));
  TRY(const auto role, message.string("role"));
  if (!role) return missing_field(message.path_of("role"));
  TRY(const auto content, message.string("content"));
  TRY(const auto tool_name, message.string("tool_name"));
  TRY(const auto thinking, message.string("thinking"));
  TRY(Json calls, read_calls(message));
  Json entry{{"role", *role}, {"content", content.value_or("")}};
  if (tool_name) entry["name"] = *tool_name;
  if (*role == "tool") entry["tool_call_id"] = result_id(messages);
  if (thinking) entry["reasoning_content"] = *thinking;
  if (!calls.empty()) entry["tool_calls"] = std::move(calls);
  messages.push_back(std::move(entry));
  return ok_status();
}

}  // namespace

Result<TranslatedRequest> read_ollama_chat(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  TRY(Json chat, read_shared(fields, limits));
  copy_fields(fields, {"tools"}, chat);
  TRY(const Json* const messages, fields.array("messages", kMessagesMax));
  if (messages == nullptr) return missing_field("messages");
  Json list = Json::array();
  for (std::size_t i = 0; i < messages->size(); ++i) {
    TRY_OK(add_message((*messages)[i], "messages[" + std::to_string(i) + "]", list));
  }
  chat["messages"] = std::move(list);
  return read_translated(chat, limits, /*clamps=*/true);
}

Result<TranslatedRequest> read_ollama_generate(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  TRY(Json chat, read_shared(fields, limits));
  TRY_OK(check_images(fields));
  TRY(const auto template_text, fields.string("template"));
  if (template_text && !template_text->empty()) return not_supported("template");
  TRY(const Json* const context, fields.array("context", kContextMax));
  if (context != nullptr && !context->empty()) return not_supported("context");
  TRY(const auto raw, fields.boolean("raw"));
  TRY(const auto prompt, fields.string("prompt"));
  if (!prompt) return missing_field("prompt");
  TRY(const auto system, fields.string("system"));
  TRY(const auto suffix, fields.string("suffix"));
  Json messages = Json::array();
  if (system && !system->empty()) messages.push_back({{"role", "system"}, {"content", *system}});
  messages.push_back({{"role", "user"}, {"content", *prompt}});
  chat["messages"] = std::move(messages);
  TRY(TranslatedRequest request, read_translated(chat, limits, /*clamps=*/true));
  if (raw.value_or(false)) request.raw = *prompt;
  if (suffix && !suffix->empty()) request.infill = InfillPrompt{*prompt, *suffix};
  if (suffix) request.content_bytes += static_cast<std::int64_t>(suffix->size());
  return request;
}

Result<std::string> read_ollama_show(const Json& body) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  TRY(auto model, fields.string("model"));
  if (!model) {
    TRY(model, fields.string("name"));
  }
  if (!model) return missing_field("model");
  return without_latest(*std::move(model));
}

}  // namespace kantha::api
