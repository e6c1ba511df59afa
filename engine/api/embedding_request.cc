#include "engine/api/embedding_request.h"

#include <string>
#include <utility>

#include "engine/api/translated_request.h"

namespace kantha::api {
namespace {

/// One of two words; absent: the first.
Result<bool> is_second(const JsonFields& fields, std::string_view name, std::string_view first,
                       std::string_view second) {
  TRY(const auto word, fields.string(name));
  if (!word || *word == first) return false;
  if (*word == second) return true;
  const std::string path = fields.path_of(name);
  return invalid_argument(path + ": expected " + std::string(first) + " or " + std::string(second) +
                              ", got " + dump_json(Json(word->substr(0, 64))),
                          path);
}

}  // namespace

Result<EmbeddingRequest> read_embedding_request(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  for (const char* name : {"dimensions", "truncate_prompt_tokens"}) {
    if (fields.find(name) != nullptr) return not_supported(name);
  }
  Json text = Json::object();
  copy_fields(fields, {"model", "user", "priority", "cache_salt", "kantha"}, text);
  if (const Json* input = fields.find("input")) text["prompt"] = *input;
  TRY(CompletionRequest read, read_completion_request(text, limits));
  if (read.fields.vendor.return_token_ids || !read.fields.vendor.resumed_token_ids.empty()) {
    return not_supported("kantha.resume");
  }
  EmbeddingRequest request{std::move(read)};
  request.fields.max_tokens = 0;
  request.fields.temperature = 0;
  TRY(request.of_last, is_second(fields, "pooling", "mean", "last"));
  TRY(request.base64, is_second(fields, "encoding_format", "float", "base64"));
  return request;
}

}  // namespace kantha::api
