#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/dialect/syntax.h"
#include "engine/dialect/tool.h"
#include "engine/grammar/wish.h"

/// What an answer must look like so that its calls are what the request wants. Pure.
namespace kantha::dialect {

/// How far the arguments are held to their functions' schemas.
enum class ArgumentRule {
  kSchemas,  ///< all of them
  kStrict,   ///< those of functions with `strict`; others are some JSON object
};

struct CallRules {
  ToolSyntax syntax = {};
  Tools tools = {};        ///< that may be called
  bool must_call = false;  ///< the answer is a call, or several; else text around calls
  bool several = true;
  ArgumentRule arguments = ArgumentRule::kSchemas;
  /// Not empty: the answer begins inside of reasoning that ends with it.
  std::string reasoning_close = {};
  /// Is that mark a control token, which has no letters in an answer?
  std::function<bool(const std::string& mark)> is_control = {};
};

/// Can the answers of this style be put into a grammar? Those whose arguments are JSON can, and
/// among text (`must_call` false) those whose calls cannot begin without a mark.
bool has_call_wish(const ToolSyntax& syntax, bool must_call);
/// CHECKs has_call_wish. Schemas keep their place in the request (Tool::path).
grammar::Wish call_wish(const CallRules& rules);

/// Where reasoning stands before an answer of a given shape.
enum class ReasoningPlace : std::uint8_t {
  kNone,    ///< nowhere
  kInside,  ///< the answer begins inside of it
  kMayOpen  ///< the answer may begin with the opening mark
};

/// `shape`, after the reasoning.
grammar::Wish after_reasoning(const ReasoningSyntax& reasoning, ReasoningPlace place,
                              const std::function<bool(const std::string& mark)>& is_control,
                              grammar::Wish shape);

}  // namespace kantha::dialect
