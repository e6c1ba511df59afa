#include "engine/api/translated_request.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "engine/api/openai_error.h"
#include "engine/api/tool_fields.h"

namespace kantha::api {
namespace {

constexpr std::size_t kBlocksMax = 10'000;

struct NameMatch {
  std::size_t size = 0;         ///< of the path's part that is the name
  std::string_view index = {};  ///< what stood between the name's brackets
};

/// The part of `path` that is the whole name; "[]" in a name is any index.
std::optional<NameMatch> match_name(std::string_view path, std::string_view name) {
  NameMatch match;
  const std::size_t gap = name.find("[]");
  if (gap == std::string_view::npos) {
    if (!path.starts_with(name)) return std::nullopt;
    match.size = name.size();
  } else {
    if (!path.starts_with(name.substr(0, gap + 1))) return std::nullopt;
    const std::size_t close = path.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    match.index = path.substr(gap + 1, close - gap - 1);
    const std::string_view tail = name.substr(gap + 2);
    if (!path.substr(close + 1).starts_with(tail)) return std::nullopt;
    match.size = close + 1 + tail.size();
  }
  if (path.size() == match.size) return match;
  const char next = path[match.size];
  if (next != '.' && next != '[' && next != ':') return std::nullopt;
  return match;
}

/// Puts the API's own name where the chat's is; false where that is not.
bool rename(std::string& path, const FieldName& name) {
  const auto match = match_name(path, name.chat);
  if (!match) return false;
  std::string own(name.own);
  const std::size_t gap = own.find("[]");
  if (gap != std::string::npos) own.insert(gap + 1, match->index);
  path.replace(0, match->size, own);
  return true;
}

}  // namespace

Error in_own_words(Error error, std::span<const FieldName> names) {
  for (const FieldName& name : names) {
    if (!rename(error.field, name)) continue;
    rename(error.message, name);
    break;
  }
  return error;
}

void copy_fields(const JsonFields& from, std::initializer_list<std::string_view> names, Json& to) {
  for (const std::string_view name : names) {
    if (const Json* value = from.find(name)) to[std::string(name)] = *value;
  }
}

Status copy_shared_fields(const JsonFields& from, Json& to) {
  copy_fields(from,
              {"model", "seed", "min_p", "typical_p", "repetition_penalty", "min_tokens",
               "logit_bias", "allowed_token_ids", "bad_words", "ignore_eos", "stop_token_ids",
               "priority", "cache_salt", "chat_template_kwargs", "kantha"},
              to);
  TRY(const auto ours, from.object("kantha"));
  if (!ours) return ok_status();
  for (const char* name : {"resume", "return_token_ids"}) {
    if (ours->find(name) != nullptr) return not_supported(ours->path_of(name));
  }
  return ok_status();
}

Status translate_tools(const JsonFields& from, Result<Json> (*function_of)(const JsonFields& tool),
                       Json& to) {
  TRY(const Json* const tools, from.array("tools", kToolsMax));
  if (tools == nullptr || tools->empty()) return ok_status();
  Json list = Json::array();
  for (std::size_t i = 0; i < tools->size(); ++i) {
    const JsonFields tool((*tools)[i], from.path_of("tools") + "[" + std::to_string(i) + "]");
    TRY_OK(tool.check_object());
    TRY(Json function, function_of(tool));
    list.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  to["tools"] = std::move(list);
  return ok_status();
}

void set_thinking(bool thinks, Json& chat) {
  Json& extra = chat["chat_template_kwargs"];
  if (extra.is_null()) extra = Json::object();
  // Another type is read_chat_request's to refuse.
  if (extra.is_object() && !extra.contains("enable_thinking")) extra["enable_thinking"] = thinks;
}

Error not_supported(const std::string& path, std::string_view what) {
  std::string message = path + ": ";
  if (!what.empty()) message.append(what).append(" ").append("is ");
  Error error = unimplemented(message + "not supported yet", path);
  error.reason = kReasonUnsupported;
  return error;
}

Status copy_output_limit(const JsonFields& from, std::string_view name, const RequestLimits& limits,
                         Json& to) {
  TRY(const auto given, from.integer(name, 1, std::numeric_limits<std::int32_t>::max()));
  if (given) to["max_tokens"] = std::min<std::int64_t>(*given, limits.context_max);
  return ok_status();
}

Result<TranslatedRequest> read_translated(const Json& chat, const RequestLimits& limits,
                                          bool clamps) {
  TRY(ChatRequest read, read_chat_request(chat, limits));
  TranslatedRequest request{std::move(read)};
  request.fields.max_tokens_clamps = clamps;
  return request;
}

Result<std::string> read_text_blocks(const Json& content, const std::string& path,
                                     std::initializer_list<std::string_view> types) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return wrong_type(path, "a string or an array of blocks", content);
  if (content.size() > kBlocksMax) {
    return invalid_argument(
        path + ": expected at most 10000 blocks, got " + std::to_string(content.size()), path);
  }
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const JsonFields block(content[i], path + "[" + std::to_string(i) + "]");
    TRY_OK(block.check_object());
    TRY(const auto type, block.string("type"));
    if (!type) return missing_field(block.path_of("type"));
    if (std::ranges::find(types, *type) == types.end()) {
      return not_supported(block.path_of("type"),
                           "content of type \"" + type->substr(0, 64) + "\"");
    }
    TRY(const auto piece, block.string("text"));
    if (!piece) return missing_field(block.path_of("text"));
    if (i > 0) text += '\n';
    text += *piece;
  }
  return text;
}

}  // namespace kantha::api
