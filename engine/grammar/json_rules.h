#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "engine/grammar/rule_set.h"

namespace kantha::grammar {

/// The rules that JSON of any shape is made of, each made when it is first asked for. White space:
/// after `{ [ , :` and before `} ]` nothing, one space, or a line break and up to 16 spaces;
/// nowhere else, so that no answer is padded for ever. Numbers have at most 18 digits without a
/// point, else 15 on each side of it and two of exponent. One thread.
class JsonRules {
 public:
  static constexpr int kIndentMax = 16;

  /// `compact`: no white space at all.
  JsonRules(RuleSet& rules, bool compact) : rules_(rules), compact_(compact) {}

  RuleId value();
  RuleId object();
  RuleId array();
  RuleId string();
  RuleId number();  ///< whole or not
  RuleId integer();
  RuleId space();  ///< may be empty

  RuleSet& rules() { return rules_; }

 private:
  RuleSet& rules_;
  const bool compact_;
  std::optional<RuleId> value_;
  std::optional<RuleId> object_;
  std::optional<RuleId> array_;
  std::optional<RuleId> string_;
  std::optional<RuleId> number_;
  std::optional<RuleId> integer_;
  std::optional<RuleId> space_;
};

}  // namespace kantha::grammar
