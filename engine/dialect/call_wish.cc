#include "engine/dialect/call_wish.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/dialect/deepseek_calls.h"
#include "engine/dialect/tool_split.h"

namespace kantha::dialect {
namespace {

using grammar::literal;
using grammar::one_of;
using grammar::repeat;
using grammar::sequence;
using grammar::Wish;

/// Marks as this vocabulary has them: by their letters, or as control tokens, which have none.
class Marks {
 public:
  explicit Marks(std::function<bool(const std::string&)> is_control)
      : is_control_(std::move(is_control)) {}

  Wish mark(const std::string& text) const {
    return is_control(text) ? grammar::control_token(text) : literal(text);
  }
  /// Text in which none of the marks occurs; control tokens never do.
  Wish without(const std::vector<std::string>& marks) const {
    std::vector<std::string> letters;
    for (const std::string& text : marks) {
      if (!is_control(text)) letters.push_back(text);
    }
    return grammar::text_without(std::move(letters));
  }
  /// Reasoning and its end.
  Wish reasoning(const std::string& close) const {
    return sequence({without({close}), mark(close), blanks()});
  }
  static Wish blanks() { return repeat(grammar::choice({" ", "\n"}), 0, 4); }

 private:
  bool is_control(const std::string& text) const { return is_control_ && is_control_(text); }

  std::function<bool(const std::string&)> is_control_;
};

/// The fixed text of one style.
struct Frame {
  std::vector<Wish> open = {};          ///< before the first call
  std::vector<Wish> call_open = {};     ///< of each call, up to the name
  std::string name_close = {};          ///< between name and arguments
  std::vector<Wish> call_close = {};    ///< of each call, after the arguments
  std::string joint = {};               ///< between calls
  std::vector<Wish> close = {};         ///< after the last one
  std::vector<std::string> marks = {};  ///< that text outside of calls does not have
};

class Builder {
 public:
  explicit Builder(const CallRules& rules)
      : rules_(rules), marks_(rules.is_control), frame_(frame()) {}

  Wish build() const {
    std::vector<Wish> parts;
    if (!rules_.reasoning_close.empty()) {
      parts.push_back(marks_.reasoning(rules_.reasoning_close));
    }
    if (rules_.must_call) {
      parts.push_back(calls());
    } else {
      parts.push_back(without(frame_.marks));
      parts.push_back(repeat(sequence({calls(), without(frame_.marks)}), 0, -1));
    }
    Wish wish = sequence(std::move(parts));
    wish.path = "tools";
    return wish;
  }

 private:
  Wish mark(const std::string& text) const { return marks_.mark(text); }
  Wish without(const std::vector<std::string>& marks) const { return marks_.without(marks); }

  Frame json_frame() const {
    Frame frame;
    frame.call_open = {mark(rules_.syntax.open), literal("\n{\"name\": \"")};
    frame.name_close = "\", \"arguments\": ";
    frame.call_close = {literal("}")};
    if (!rules_.syntax.close.empty()) {
      frame.call_close = {literal("}\n"), mark(rules_.syntax.close)};
    }
    frame.joint = "\n";
    frame.marks = {rules_.syntax.open};
    return frame;
  }
  Frame deepseek_frame() const {
    Frame frame;
    frame.open = {mark(DeepseekCalls::kCallsBegin)};
    frame.call_open = {mark(DeepseekCalls::kCallBegin), literal("function"),
                       mark(DeepseekCalls::kSeparator)};
    frame.name_close = "\n```json\n";
    frame.call_close = {literal("\n```"), mark(DeepseekCalls::kCallEnd)};
    frame.joint = "\n";
    frame.close = {mark(DeepseekCalls::kCallsEnd)};
    frame.marks = {DeepseekCalls::kCallsBegin, DeepseekCalls::kCallBegin};
    return frame;
  }
  Frame frame() const {
    switch (rules_.syntax.style) {
      case ToolStyle::kJson: return json_frame();
      case ToolStyle::kLlama:
        return {.call_open = {literal("{\"name\": \"")},
                .name_close = "\", \"parameters\": ",
                .call_close = {literal("}")},
                .joint = "; ",
                .marks = {"<|python_tag|>"}};
      case ToolStyle::kMistral:
        return {.open = {mark("[TOOL_CALLS]"), literal("[")},
                .call_open = {literal("{\"name\": \"")},
                .name_close = "\", \"arguments\": ",
                .call_close = {literal("}")},
                .joint = ", ",
                .close = {literal("]")},
                .marks = {"[TOOL_CALLS]"}};
      case ToolStyle::kDeepseek: return deepseek_frame();
      default: CHECK(false, "a style with a wish");
    }
  }

  Wish arguments(const Tool& tool) const {
    if (tool.parameters.is_null()) return literal("{}");
    if (rules_.arguments == ArgumentRule::kStrict && !tool.strict) return grammar::json_object();
    return grammar::json_schema(tool.parameters, tool.path);
  }
  Wish call() const {
    std::vector<Wish> functions;
    for (const Tool& tool : rules_.tools) {
      functions.push_back(sequence({literal(tool.name + frame_.name_close), arguments(tool)}));
    }
    std::vector<Wish> parts = frame_.call_open;
    parts.push_back(one_of(std::move(functions)));
    parts.insert(parts.end(), frame_.call_close.begin(), frame_.call_close.end());
    return sequence(std::move(parts));
  }
  Wish calls() const {
    std::vector<Wish> parts = frame_.open;
    parts.push_back(call());
    if (rules_.several && rules_.must_call) {
      parts.push_back(
          repeat(sequence({literal(frame_.joint), call()}), 0, ToolSplit::kCallsMax - 1));
    }
    parts.insert(parts.end(), frame_.close.begin(), frame_.close.end());
    return sequence(std::move(parts));
  }

  const CallRules& rules_;
  const Marks marks_;
  const Frame frame_;
};

}  // namespace

bool has_call_wish(const ToolSyntax& syntax, bool must_call) {
  if (syntax.style == ToolStyle::kJson || syntax.style == ToolStyle::kDeepseek) return true;
  return must_call && (syntax.style == ToolStyle::kLlama || syntax.style == ToolStyle::kMistral);
}

grammar::Wish call_wish(const CallRules& rules) {
  CHECK(has_call_wish(rules.syntax, rules.must_call) && !rules.tools.empty(),
        "calls that a grammar can hold");
  return Builder(rules).build();
}

grammar::Wish after_reasoning(const ReasoningSyntax& reasoning, ReasoningPlace place,
                              const std::function<bool(const std::string& mark)>& is_control,
                              grammar::Wish shape) {
  if (place == ReasoningPlace::kNone || reasoning.empty()) return shape;
  const Marks marks(is_control);
  Wish before = marks.reasoning(reasoning.close);
  if (place == ReasoningPlace::kMayOpen) {
    if (reasoning.open.empty()) return shape;
    before = repeat(sequence({marks.mark(reasoning.open), std::move(before)}), 0, 1);
  }
  std::string path = shape.path;
  Wish wish = sequence({std::move(before), std::move(shape)});
  wish.path = std::move(path);
  return wish;
}

}  // namespace kantha::dialect
