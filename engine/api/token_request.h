#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "engine/api/chat_request.h"

/// POST /tokenize and /detokenize, as vLLM has them. Pure; any thread.
namespace kantha::api {

/// Exactly one of a text and a conversation.
struct TokenizeRequest {
  std::string model = {};
  std::optional<std::string> prompt = {};  ///< `prompt`
  std::optional<ChatRequest> chat = {};    ///< `messages`, rendered through the template
  bool add_special_tokens = true;          ///< the model's BOS in front of a text, if it wants one
  bool return_token_strs = false;
};

struct DetokenizeRequest {
  std::string model = {};
  std::vector<TokenId> tokens;
};

Result<TokenizeRequest> read_tokenize_request(const Json& body);
Result<DetokenizeRequest> read_detokenize_request(const Json& body, const RequestLimits& limits);

/// {"count","max_model_len","tokens","token_strs"}; `token_strs` holds each token's bytes, empty:
/// null.
OrderedJson tokenize_json(const std::vector<TokenId>& tokens, std::int32_t max_model_len,
                          const std::optional<std::vector<std::string>>& token_strs);

}  // namespace kantha::api
