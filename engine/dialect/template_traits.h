#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "engine/dialect/syntax.h"

/// What a chat template does with functions and calls, found by rendering small conversations.
namespace kantha::dialect {

/// Renders without a generation prompt; absent when the template refuses.
using Render = std::function<std::optional<std::string>(const OrderedJson& messages,
                                                        const OrderedJson& tools)>;

struct TemplateTraits {
  bool shows_tools = false;        ///< the prompt names the functions that are offered
  bool shows_calls = false;        ///< and those that were called
  bool arguments_as_text = false;  ///< it wants a call's arguments as text and not as an object
  bool short_ids = false;          ///< it refuses ids that are not nine letters and digits
  /// The marks that it writes around a JSON call.
  std::optional<ToolSyntax> syntax = {};
};

TemplateTraits probe_template(const Render& render);

/// What a model's answers are read by and its conversations are written for.
struct Dialect {
  ToolSyntax tools = {};
  ReasoningSyntax reasoning = {};
  TemplateTraits traits = {};
  /// The template knows nothing of functions, or of calls that we could read: the conversation
  /// describes them itself (conversation.h).
  bool own_prompt = false;
};

/// `tools` and `reasoning` are names for the parsers, or "auto": by the template. kInvalidArgument
/// for a name that nobody knows.
Result<Dialect> choose_dialect(const std::string& tools, const std::string& reasoning,
                               const std::string& template_source, const Render& render);

}  // namespace kantha::dialect
