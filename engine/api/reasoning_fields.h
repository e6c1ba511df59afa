#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json_fields.h"
#include "base/result.h"

/// What a chat request says of the model's reasoning. Pure; any thread.
namespace kantha::api {

struct ReasoningFields {
  /// reasoning_effort: the template's variable of that name; "none" also means enable_thinking
  /// false.
  std::optional<std::string> effort = {};
  /// kantha.reasoning_tokens, or thinking_token_budget: after so many output tokens the reasoning
  /// is ended.
  std::optional<std::int32_t> tokens_max = {};
  bool included = true;  ///< include_reasoning: the client wants to see it
};

Result<ReasoningFields> read_reasoning_fields(const JsonFields& fields, std::int32_t context_max);

}  // namespace kantha::api
