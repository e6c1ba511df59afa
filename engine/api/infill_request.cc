#include "engine/api/infill_request.h"

#include <limits>
#include <string>
#include <utility>

namespace kantha::api {
namespace {

constexpr std::size_t kExtrasMax = 256;

Result<InfillPrompt> read_prompt(const JsonFields& fields) {
  InfillPrompt prompt;
  TRY(auto prefix, fields.string("input_prefix"));
  TRY(auto suffix, fields.string("input_suffix"));
  if (!prefix) return missing_field("input_prefix");
  if (!suffix) return missing_field("input_suffix");
  prompt.prefix = *std::move(prefix);
  prompt.suffix = *std::move(suffix);
  // What the user has typed after the prefix.
  TRY(const auto typed, fields.string("prompt"));
  prompt.prefix += typed.value_or("");
  TRY(const Json* const extras, fields.array("input_extra", kExtrasMax));
  if (extras == nullptr) return prompt;
  for (std::size_t i = 0; i < extras->size(); ++i) {
    const JsonFields extra((*extras)[i], "input_extra[" + std::to_string(i) + "]");
    TRY_OK(extra.check_object());
    TRY(auto filename, extra.string("filename"));
    TRY(auto text, extra.string("text"));
    if (!text) return missing_field(extra.path_of("text"));
    prompt.extra.push_back({filename.value_or(""), *std::move(text)});
  }
  return prompt;
}

std::int64_t bytes_of(const InfillPrompt& prompt) {
  std::size_t bytes = prompt.prefix.size() + prompt.suffix.size();
  for (const InfillPrompt::Extra& extra : prompt.extra) {
    bytes += extra.filename.size() + extra.text.size();
  }
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

Result<TranslatedRequest> read_infill_request(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  Json chat = Json::object();
  TRY_OK(copy_shared_fields(fields, chat));
  copy_fields(fields,
              {"temperature", "top_p", "top_k", "stop", "stream", "presence_penalty",
               "frequency_penalty", "response_format", "json_schema", "grammar"},
              chat);
  if (const Json* penalty = fields.find("repeat_penalty")) chat["repetition_penalty"] = *penalty;
  TRY(const auto most, fields.integer("n_predict", -1, std::numeric_limits<std::int32_t>::max()));
  if (most && *most >= 0) TRY_OK(copy_output_limit(fields, "n_predict", limits, chat));
  TRY(InfillPrompt prompt, read_prompt(fields));
  chat["messages"] = Json::array();
  chat["messages"].push_back({{"role", "user"}, {"content", ""}});
  TRY(TranslatedRequest request, read_translated(chat, limits, /*clamps=*/true));
  request.content_bytes = bytes_of(prompt);
  request.infill = std::move(prompt);
  return request;
}

}  // namespace kantha::api
