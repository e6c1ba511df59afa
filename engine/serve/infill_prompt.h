#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/api/translated_request.h"
#include "engine/serve/served_model.h"

/// Prompts of models that were trained to fill a gap. Pure; any thread.
namespace kantha::serve {

/// The control tokens around a gap, found by their spelling.
struct InfillTokens {
  TokenId prefix = 0;
  TokenId suffix = 0;
  TokenId middle = 0;
  std::optional<TokenId> file_separator = {};
  std::optional<TokenId> repository = {};
};

/// nullopt: the model was not trained for it.
std::optional<InfillTokens> infill_tokens(const text::Tokenizer& tokenizer);

/// prefix token, prefix, suffix token, suffix, middle token; extra files before, each with its
/// name, where the model has a token for that. The client's text never becomes a control token.
/// kUnimplemented when the model has no such tokens.
Result<std::vector<TokenId>> infill_prompt(const ServedModel& model, const api::InfillPrompt& gap);

}  // namespace kantha::serve
