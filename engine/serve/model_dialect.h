#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "base/result.h"
#include "engine/dialect/template_traits.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"

namespace kantha::serve {

/// How a model is told of functions and how its answers are read. Plain data.
struct ModelDialect {
  dialect::Dialect dialect = {};
  /// Control tokens that stand for the parsers' marks, which have no text otherwise, and their
  /// names.
  std::unordered_map<TokenId, std::string> marks = {};
};

/// `tools` and `reasoning` are engine.toolParser and engine.reasoningParser. kInvalidArgument for
/// names that nobody knows. Renders the template a few times.
Result<ModelDialect> model_dialect(const text::Tokenizer& tokenizer,
                                   const text::ChatTemplate* chat_template,
                                   const std::string& tools, const std::string& reasoning);

/// The text of a vocabulary's own token, as BOS and EOS stand in templates.
std::string token_name(const text::Vocabulary& vocabulary, std::optional<TokenId> id);

}  // namespace kantha::serve
