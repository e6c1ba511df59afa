#include "engine/dialect/forced_call.h"

#include "engine/dialect/deepseek_calls.h"

namespace kantha::dialect {
namespace {

/// `{"name": "f", "arguments":`, or as far as the name's first letter. No space at the end: models
/// write it together with what follows.
std::string object_opening(std::string_view name, const char* arguments) {
  const std::string begin = "{\"name\": \"" + std::string(name);
  return name.empty() ? begin : begin + "\", \"" + arguments + "\":";
}

}  // namespace

std::string call_opening(const ToolSyntax& syntax, std::string_view name) {
  const std::string function(name);
  switch (syntax.style) {
    case ToolStyle::kNone: return {};
    case ToolStyle::kJson: return syntax.open + "\n" + object_opening(name, "arguments");
    case ToolStyle::kLlama: return object_opening(name, "parameters");
    case ToolStyle::kMistral: return "[TOOL_CALLS][" + object_opening(name, "arguments");
    case ToolStyle::kPythonic: return name.empty() ? "[" : "[" + function + "(";
    case ToolStyle::kDeepseek: {
      const std::string begin = std::string(DeepseekCalls::kCallsBegin) +
                                DeepseekCalls::kCallBegin + "function" + DeepseekCalls::kSeparator;
      return name.empty() ? begin : begin + function + "\n```json\n";
    }
    case ToolStyle::kXml: {
      const std::string begin = "<tool_call>\n<function=";
      return name.empty() ? begin : begin + function + ">\n";
    }
  }
  return {};
}

std::string reasoning_end(const ReasoningSyntax& reasoning) {
  return reasoning.empty() ? std::string() : "\n" + reasoning.close + "\n\n";
}

}  // namespace kantha::dialect
