#include "engine/api/token_request.h"

#include "engine/api/openai_error.h"

namespace kantha::api {
namespace {
constexpr std::size_t kDetokenizeMax = 100'000;
}  // namespace

Result<TokenizeRequest> read_tokenize_request(const Json& body) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  TokenizeRequest request;
  TRY(const auto model, fields.string("model"));
  request.model = model.value_or("");
  TRY(request.prompt, fields.string("prompt"));
  TRY(const auto add_special, fields.boolean("add_special_tokens"));
  request.add_special_tokens = add_special.value_or(true);
  TRY(const auto strs, fields.boolean("return_token_strs"));
  request.return_token_strs = strs.value_or(false);
  if (fields.find("messages") != nullptr) {
    if (request.prompt) {
      return invalid_argument("prompt: not allowed together with messages", "prompt");
    }
    request.chat.emplace();
    TRY_OK(read_conversation(fields, *request.chat));
  }
  if (!request.prompt && !request.chat) return missing_field("prompt");
  return request;
}

Result<DetokenizeRequest> read_detokenize_request(const Json& body, const RequestLimits& limits) {
  const JsonFields fields(body, "");
  TRY_OK(fields.check_object());
  DetokenizeRequest request;
  TRY(const auto model, fields.string("model"));
  request.model = model.value_or("");
  if (fields.find("tokens") == nullptr) return missing_field("tokens");
  TRY(request.tokens, read_token_ids(fields, "tokens", kDetokenizeMax, limits));
  return request;
}

OrderedJson tokenize_json(const std::vector<TokenId>& tokens, std::int32_t max_model_len,
                          const std::optional<std::vector<std::string>>& token_strs) {
  OrderedJson json;
  json["count"] = tokens.size();
  json["max_model_len"] = max_model_len;
  json["tokens"] = tokens;
  json["token_strs"] = token_strs ? OrderedJson(*token_strs) : OrderedJson(nullptr);
  return json;
}

}  // namespace kantha::api
