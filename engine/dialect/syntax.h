#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// How a model writes calls and reasoning: the choice of a parser. Plain data and pure functions.
namespace kantha::dialect {

enum class ToolStyle {
  kNone,      ///< calls are not looked for
  kJson,      ///< `open` JSON objects or a list of them, `close`
  kLlama,     ///< JSON objects that the answer begins with, or that follow `<|python_tag|>`
  kMistral,   ///< `[TOOL_CALLS]`
  kPythonic,  ///< `[f(a=1), g()]`, alone or between marks
  kDeepseek,  ///< `<｜tool▁calls▁begin｜>` and so on
  kXml,       ///< `<tool_call><function=f><parameter=a>1</parameter></function></tool_call>`
};

struct ToolSyntax {
  ToolStyle style = ToolStyle::kNone;
  std::string open = {};   ///< of kJson
  std::string close = {};  ///< of kJson; empty: none

  bool operator==(const ToolSyntax&) const = default;
};

struct ReasoningSyntax {
  std::string open = {};   ///< "<think>"; empty: no reasoning is looked for
  std::string close = {};  ///< "</think>"
  bool always = false;     ///< an answer begins inside of it also when the prompt does not open it

  bool empty() const { return close.empty(); }
  bool operator==(const ReasoningSyntax&) const = default;
};

/// Names for `--tool-parser`: hermes, llama3_json, mistral, pythonic, deepseek_v3, qwen3_coder,
/// none, and what vLLM calls the same. kInvalidArgument lists them.
Result<ToolSyntax> tool_syntax_named(std::string_view name);
/// Names for `--reasoning-parser`: think (qwen3), deepseek_r1, mistral, seed_oss, kimi, none.
Result<ReasoningSyntax> reasoning_syntax_named(std::string_view name);
/// The name that tool_syntax_named takes; "template" for marks that came from a template.
std::string_view tool_syntax_name(const ToolSyntax& syntax);

/// By the marks in a chat template's source. Absent: it has none that we know.
std::optional<ToolSyntax> tool_syntax_in(std::string_view template_source);
ReasoningSyntax reasoning_syntax_in(std::string_view template_source);

/// Every mark whose text decides, so that tokens which stand for one are to be read as text.
std::vector<std::string> marks_of(const ToolSyntax& tools);
std::vector<std::string> marks_of(const ReasoningSyntax& reasoning);

/// Does a prompt that ends so leave its reasoning open?
bool leaves_reasoning_open(const ReasoningSyntax& reasoning, std::string_view prompt_tail);

/// `open` and `close` of the JSON calls in a rendered conversation: what the template wrote around
/// the call of function `name` between `before` and `after`, the parts that a turn without a call
/// has as well. Absent when there is no JSON object with that name or nothing marks it.
std::optional<ToolSyntax> tool_syntax_around(std::string_view with_call,
                                             std::string_view without_call, std::string_view name);

}  // namespace kantha::dialect
