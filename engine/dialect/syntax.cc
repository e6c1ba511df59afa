#include "engine/dialect/syntax.h"

#include <algorithm>
#include <array>

#include "engine/dialect/deepseek_calls.h"
#include "engine/dialect/json_bytes.h"

namespace kantha::dialect {
namespace {

struct NamedStyle {
  std::string_view name;
  ToolStyle style;
};

constexpr std::array kStyles{
    NamedStyle{"hermes", ToolStyle::kJson},
    NamedStyle{"llama3_json", ToolStyle::kLlama},
    NamedStyle{"mistral", ToolStyle::kMistral},
    NamedStyle{"pythonic", ToolStyle::kPythonic},
    NamedStyle{"deepseek_v3", ToolStyle::kDeepseek},
    NamedStyle{"qwen3_coder", ToolStyle::kXml},
    NamedStyle{"none", ToolStyle::kNone},
    // The same by other names.
    NamedStyle{"qwen", ToolStyle::kJson},
    NamedStyle{"llama4_pythonic", ToolStyle::kPythonic},
    NamedStyle{"llama4_json", ToolStyle::kLlama},
    NamedStyle{"deepseek_v31", ToolStyle::kDeepseek},
    NamedStyle{"qwen3_xml", ToolStyle::kXml},
};

ToolSyntax syntax_of(ToolStyle style) {
  if (style != ToolStyle::kJson) return {.style = style};
  return {.style = style, .open = "<tool_call>", .close = "</tool_call>"};
}

struct NamedReasoning {
  std::string_view name;
  std::string_view open;
  std::string_view close;
  bool always = false;
};

constexpr std::array kReasonings{
    NamedReasoning{"think", "<think>", "</think>"},
    NamedReasoning{"deepseek_r1", "<think>", "</think>", true},
    NamedReasoning{"mistral", "[THINK]", "[/THINK]"},
    NamedReasoning{"seed_oss", "<seed:think>", "</seed:think>"},
    NamedReasoning{"kimi", "◁think▷", "◁/think▷"},
    NamedReasoning{"none", "", ""},
    NamedReasoning{"qwen3", "<think>", "</think>"},
};

ReasoningSyntax syntax_of(const NamedReasoning& named) {
  return {
      .open = std::string(named.open), .close = std::string(named.close), .always = named.always};
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t common_head(std::string_view a, std::string_view b) {
  const auto ends = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(ends.in1 - a.begin());
}

std::size_t common_tail(std::string_view a, std::string_view b) {
  std::size_t count = 0;
  while (count < a.size() && count < b.size() && a[a.size() - 1 - count] == b[b.size() - 1 - count])
    ++count;
  return count;
}

/// The JSON object around `at`: from the nearest brace before it that opens one which goes on
/// beyond it.
std::optional<std::pair<std::size_t, std::size_t>> object_around(std::string_view text,
                                                                 std::size_t at) {
  for (std::size_t open = text.rfind('{', at); open != text.npos;
       open = open == 0 ? text.npos : text.rfind('{', open - 1)) {
    JsonExtent extent;
    for (std::size_t i = open; i < text.size(); ++i) {
      if (!extent.take(text[i])) continue;
      if (i > at) return std::pair(open, i + 1);
      break;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ToolSyntax> tool_syntax_named(std::string_view name) {
  const auto found = std::ranges::find(kStyles, name, &NamedStyle::name);
  if (found != kStyles.end()) return syntax_of(found->style);
  return invalid_argument(
      "expected auto, hermes, llama3_json, mistral, pythonic, deepseek_v3, qwen3_coder or none, "
      "got \"" +
      std::string(name) + "\"");
}

std::string_view tool_syntax_name(const ToolSyntax& syntax) {
  if (syntax.style == ToolStyle::kJson && syntax != syntax_of(ToolStyle::kJson)) return "template";
  return std::ranges::find(kStyles, syntax.style, &NamedStyle::style)->name;
}

Result<ReasoningSyntax> reasoning_syntax_named(std::string_view name) {
  const auto found = std::ranges::find(kReasonings, name, &NamedReasoning::name);
  if (found != kReasonings.end()) return syntax_of(*found);
  return invalid_argument(
      "expected auto, think, deepseek_r1, mistral, seed_oss, kimi or none, got \"" +
      std::string(name) + "\"");
}

std::optional<ToolSyntax> tool_syntax_in(std::string_view source) {
  const auto has = [source](std::string_view part) { return contains(source, part); };
  if (has(DeepseekCalls::kCallBegin)) return syntax_of(ToolStyle::kDeepseek);
  if (has("[TOOL_CALLS]")) return syntax_of(ToolStyle::kMistral);
  if (has("<function=") && has("<parameter=")) return syntax_of(ToolStyle::kXml);
  if (has("<tool_call>") && !has("<arg_key>")) return syntax_of(ToolStyle::kJson);
  if (has("<|python_start|>") || has("<|tool_call_start|>") || has("[func_name1(")) {
    return syntax_of(ToolStyle::kPythonic);
  }
  const bool is_llama = has("<|start_header_id|>") && has("ipython");
  if (has("<|python_tag|>") || is_llama) return syntax_of(ToolStyle::kLlama);
  return std::nullopt;
}

ReasoningSyntax reasoning_syntax_in(std::string_view source) {
  for (const NamedReasoning& named : kReasonings) {
    if (!named.close.empty() && contains(source, named.close)) return syntax_of(named);
  }
  // Templates that open it and leave the closing mark to the model.
  for (const NamedReasoning& named : kReasonings) {
    if (!named.open.empty() && contains(source, named.open)) return syntax_of(named);
  }
  return {};
}

std::vector<std::string> marks_of(const ToolSyntax& tools) {
  switch (tools.style) {
    case ToolStyle::kNone: return {};
    case ToolStyle::kJson: {
      std::vector<std::string> marks{tools.open};
      if (!tools.close.empty()) marks.push_back(tools.close);
      return marks;
    }
    case ToolStyle::kLlama: return {"<|python_tag|>"};
    case ToolStyle::kMistral: return {"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"};
    case ToolStyle::kPythonic:
      return {"<|python_start|>", "<|python_end|>", "<|tool_call_start|>", "<|tool_call_end|>"};
    case ToolStyle::kDeepseek:
      return {DeepseekCalls::kCallsBegin, DeepseekCalls::kCallsEnd, DeepseekCalls::kCallBegin,
              DeepseekCalls::kCallEnd, DeepseekCalls::kSeparator};
    case ToolStyle::kXml: return {"<tool_call>", "</tool_call>"};
  }
  return {};
}

std::vector<std::string> marks_of(const ReasoningSyntax& reasoning) {
  if (reasoning.empty()) return {};
  return {reasoning.open, reasoning.close};
}

bool leaves_reasoning_open(const ReasoningSyntax& reasoning, std::string_view prompt_tail) {
  if (reasoning.empty()) return false;
  const std::string_view end = trimmed(prompt_tail);
  return end.ends_with(reasoning.open);
}

std::optional<ToolSyntax> tool_syntax_around(std::string_view with_call,
                                             std::string_view without_call, std::string_view name) {
  const std::size_t head = common_head(with_call, without_call);
  const std::size_t tail = std::min(common_tail(with_call, without_call), with_call.size() - head);
  const std::size_t end = with_call.size() - tail;
  const std::size_t at = with_call.find("\"" + std::string(name) + "\"", head);
  if (at == with_call.npos || at >= end) return std::nullopt;
  const auto object = object_around(with_call.substr(0, end), at);
  if (!object || object->first < head) return std::nullopt;
  std::string_view open = trimmed(with_call.substr(head, object->first - head));
  std::string_view close = trimmed(with_call.substr(object->second, end - object->second));
  if (open.ends_with('[')) open = trimmed(open.substr(0, open.size() - 1));
  if (close.starts_with(']')) close = trimmed(close.substr(1));
  if (open.empty()) return std::nullopt;
  return ToolSyntax{
      .style = ToolStyle::kJson, .open = std::string(open), .close = std::string(close)};
}

}  // namespace kantha::dialect
