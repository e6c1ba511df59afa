#include "engine/api/completion_request.h"

#include <utility>

#include "engine/api/openai_error.h"
#include "engine/api/request_support.h"

namespace kantha::api {
namespace {

constexpr std::size_t kPromptsMax = 64;
constexpr std::int64_t kLogprobsMax = 5;
constexpr std::string_view kPromptForms =
    "a string, an array of strings, an array of token ids, or an array of arrays of token ids";

std::string item_path(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

void add_text(const Json& json, CompletionRequest& request) {
  std::string text = json.get<std::string>();
  request.text_bytes += static_cast<std::int64_t>(text.size());
  request.prompts.emplace_back(std::move(text));
}

Status add_tokens(const Json& array, const std::string& path, const RequestLimits& limits,
                  CompletionRequest& request) {
  if (array.empty()) {
    return invalid_argument(path + ": expected at least one token id, got none", path);
  }
  std::vector<TokenId> ids;
  ids.reserve(array.size());
  for (const Json& item : array) {
    TRY(const TokenId id, read_token_id(item, item_path(path, ids.size()), limits));
    ids.push_back(id);
  }
  request.token_count += static_cast<std::int64_t>(ids.size());
  request.prompts.emplace_back(std::move(ids));
  return ok_status();
}

/// An array is what its first entry makes it; the others must be of the same kind.
Status add_many(const Json& array, const std::string& path, const RequestLimits& limits,
                CompletionRequest& request) {
  const bool texts = array.front().is_string();
  if (!texts && !array.front().is_array()) return add_tokens(array, path, limits, request);
  if (array.size() > kPromptsMax) {
    return invalid_argument(
        path + ": expected at most 64 prompts, got " + std::to_string(array.size()), path);
  }
  for (std::size_t i = 0; i < array.size(); ++i) {
    const std::string place = item_path(path, i);
    if (texts && !array[i].is_string()) return wrong_type(place, "a string", array[i]);
    if (!texts && !array[i].is_array()) {
      return wrong_type(place, "an array of token ids", array[i]);
    }
    if (texts) {
      add_text(array[i], request);
    } else {
      TRY_OK(add_tokens(array[i], place, limits, request));
    }
  }
  return ok_status();
}

Status read_prompt(const JsonFields& fields, const RequestLimits& limits,
                   CompletionRequest& request) {
  const std::string path = fields.path_of("prompt");
  const Json* prompt = fields.find("prompt");
  if (prompt == nullptr) return missing_field(path);
  if (prompt->is_string()) {
    add_text(*prompt, request);
    return ok_status();
  }
  if (!prompt->is_array()) return wrong_type(path, kPromptForms, *prompt);
  if (prompt->empty()) return invalid_argument(path + ": is empty", path);
  return add_many(*prompt, path, limits, request);
}

}  // namespace

Result<CompletionRequest> read_completion_request(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  CompletionRequest request;
  TRY(request.fields, read_generation_fields(fields, limits));
  TRY(const auto echo, fields.boolean("echo"));
  request.fields.echo = echo.value_or(false);
  const std::int64_t least = request.fields.echo ? 0 : 1;
  TRY(const auto max_tokens, fields.integer("max_tokens", least, limits.context_max));
  if (max_tokens) request.fields.max_tokens = static_cast<std::int32_t>(*max_tokens);
  TRY(const auto logprobs, fields.integer("logprobs", 0, kLogprobsMax));
  request.fields.logprobs = static_cast<std::int32_t>(logprobs.value_or(-1));
  TRY_OK(check_min_tokens(fields, request.fields));
  TRY_OK(check_supported(fields, ApiKind::kCompletion));
  TRY_OK(read_prompt(fields, limits, request));
  if (request.prompts.size() > 1 && !request.fields.vendor.resumed_token_ids.empty()) {
    return invalid_argument("kantha.resume: only allowed with one prompt", "kantha.resume");
  }
  const auto choices = static_cast<std::int64_t>(request.prompts.size()) * request.fields.best_of;
  if (choices > kChoicesMax) {
    return invalid_argument("n: expected at most " + std::to_string(kChoicesMax) +
                                " choices over all prompts, got " +
                                std::to_string(request.prompts.size()) + " prompts times " +
                                std::to_string(request.fields.best_of),
                            "n");
  }
  return request;
}

}  // namespace kantha::api
