#include <charconv>
#include <optional>

#include "engine/text/template_filters.h"
#include "engine/text/template_parser.h"
#include "engine/text/template_tests.h"

namespace kantha::text {
namespace {

std::optional<Operator> comparison_at(const TemplateCursor& cursor) {
  if (cursor.at_operator("==")) return Operator::kEqual;
  if (cursor.at_operator("!=")) return Operator::kNotEqual;
  if (cursor.at_operator("<")) return Operator::kLess;
  if (cursor.at_operator("<=")) return Operator::kLessEqual;
  if (cursor.at_operator(">")) return Operator::kGreater;
  if (cursor.at_operator(">=")) return Operator::kGreaterEqual;
  if (cursor.at_name("in")) return Operator::kIn;
  const bool not_in =
      cursor.at_name("not") && cursor.peek(1).kind == LexKind::kName && cursor.peek(1).text == "in";
  if (not_in) return Operator::kNotIn;
  return std::nullopt;
}

std::optional<Operator> sum_at(const TemplateCursor& cursor) {
  if (cursor.at_operator("+")) return Operator::kAdd;
  if (cursor.at_operator("-")) return Operator::kSubtract;
  return std::nullopt;
}

std::optional<Operator> concat_at(const TemplateCursor& cursor) {
  if (cursor.at_operator("~")) return Operator::kConcat;
  return std::nullopt;
}

std::optional<Operator> product_at(const TemplateCursor& cursor) {
  if (cursor.at_operator("*")) return Operator::kMultiply;
  if (cursor.at_operator("/")) return Operator::kDivide;
  if (cursor.at_operator("//")) return Operator::kFloorDivide;
  if (cursor.at_operator("%")) return Operator::kModulo;
  return std::nullopt;
}

std::optional<Operator> power_at(const TemplateCursor& cursor) {
  if (cursor.at_operator("**")) return Operator::kPower;
  return std::nullopt;
}

}  // namespace

Expression& ExpressionParser::make(ExpressionKind kind) {
  Expression& made = program_.expressions.emplace_back();
  made.kind = kind;
  made.line = cursor_.peek().line;
  return made;
}

/// One level of a grammar of operators that group from the left.
template <class Next, class OperatorAt>
ExpressionParser::Node ExpressionParser::parse_joined(ExpressionKind kind, Next next,
                                                      OperatorAt operator_at) {
  TRY(const Expression* const first, (this->*next)());
  if (!operator_at(cursor_)) return first;
  Expression& joined = make(kind);
  joined.operands.push_back(first);
  while (const std::optional<Operator> found = operator_at(cursor_)) {
    cursor_.take();
    if (*found == Operator::kNotIn) cursor_.take();
    TRY(const Expression* const operand, (this->*next)());
    joined.operators.push_back(*found);
    joined.operands.push_back(operand);
  }
  return &joined;
}

ExpressionParser::Node ExpressionParser::parse_expression() {
  TRY_OK(cursor_.enter());
  Node parsed = parse_conditional();
  cursor_.leave();
  return parsed;
}

ExpressionParser::Node ExpressionParser::parse_conditional() {
  TRY(const Expression* value, parse_or());
  while (cursor_.take_name("if")) {
    Expression& conditional = make(ExpressionKind::kConditional);
    TRY(const Expression* const condition, parse_or());
    const Expression* other = nullptr;
    if (cursor_.take_name("else")) {
      TRY(other, parse_expression());
    }
    conditional.operands = {value, condition, other};
    value = &conditional;
  }
  return value;
}

ExpressionParser::Node ExpressionParser::parse_tuple(bool with_conditionals) {
  const auto one = [&] { return with_conditionals ? parse_expression() : parse_or(); };
  TRY(const Expression* const first, one());
  if (!cursor_.at_operator(",")) return first;
  Expression& tuple = make(ExpressionKind::kTuple);
  tuple.operands.push_back(first);
  while (cursor_.take_operator(",")) {
    const bool ends = cursor_.at(LexKind::kBlockEnd) || cursor_.at(LexKind::kVariableEnd) ||
                      cursor_.at_operator(")");
    if (ends) break;
    TRY(const Expression* const next, one());
    tuple.operands.push_back(next);
  }
  return &tuple;
}

ExpressionParser::Node ExpressionParser::parse_or() {
  TRY(const Expression* const first, parse_and());
  if (!cursor_.at_name("or")) return first;
  Expression& any = make(ExpressionKind::kOr);
  any.operands.push_back(first);
  while (cursor_.take_name("or")) {
    TRY(const Expression* const next, parse_and());
    any.operands.push_back(next);
  }
  return &any;
}

ExpressionParser::Node ExpressionParser::parse_and() {
  TRY(const Expression* const first, parse_not());
  if (!cursor_.at_name("and")) return first;
  Expression& all = make(ExpressionKind::kAnd);
  all.operands.push_back(first);
  while (cursor_.take_name("and")) {
    TRY(const Expression* const next, parse_not());
    all.operands.push_back(next);
  }
  return &all;
}

ExpressionParser::Node ExpressionParser::parse_not() {
  if (!cursor_.at_name("not")) return parse_comparison();
  TRY_OK(cursor_.enter());
  Expression& negation = make(ExpressionKind::kNot);
  cursor_.take();
  TRY(const Expression* const operand, parse_not());
  negation.operands.push_back(operand);
  cursor_.leave();
  return &negation;
}

ExpressionParser::Node ExpressionParser::parse_comparison() {
  return parse_joined(ExpressionKind::kComparison, &ExpressionParser::parse_sum, comparison_at);
}

ExpressionParser::Node ExpressionParser::parse_sum() {
  return parse_joined(ExpressionKind::kArithmetic, &ExpressionParser::parse_concat, sum_at);
}

ExpressionParser::Node ExpressionParser::parse_concat() {
  return parse_joined(ExpressionKind::kArithmetic, &ExpressionParser::parse_product, concat_at);
}

ExpressionParser::Node ExpressionParser::parse_product() {
  return parse_joined(ExpressionKind::kArithmetic, &ExpressionParser::parse_power, product_at);
}

/// Jinja groups powers from the left, unlike Python.
ExpressionParser::Node ExpressionParser::parse_power() {
  const auto next = &ExpressionParser::parse_unary;
  TRY(const Expression* const first, (this->*next)(true));
  if (!power_at(cursor_)) return first;
  Expression& joined = make(ExpressionKind::kArithmetic);
  joined.operands.push_back(first);
  while (cursor_.take_operator("**")) {
    TRY(const Expression* const operand, parse_unary(true));
    joined.operators.push_back(Operator::kPower);
    joined.operands.push_back(operand);
  }
  return &joined;
}

ExpressionParser::Node ExpressionParser::parse_unary(bool with_filters) {
  TRY_OK(cursor_.enter());
  Node parsed = parse_unary_inside(with_filters);
  cursor_.leave();
  return parsed;
}

ExpressionParser::Node ExpressionParser::parse_unary_inside(bool with_filters) {
  const bool minus = cursor_.at_operator("-");
  if (!minus && !cursor_.at_operator("+")) {
    TRY(const Expression* const primary, parse_primary());
    return parse_steps(primary, with_filters);
  }
  Expression& signed_value = make(minus ? ExpressionKind::kMinus : ExpressionKind::kPlus);
  cursor_.take();
  TRY(const Expression* const operand, parse_unary(/*with_filters=*/false));
  signed_value.operands.push_back(operand);
  return parse_steps(&signed_value, with_filters);
}

ExpressionParser::Node ExpressionParser::parse_primary() {
  switch (cursor_.peek().kind) {
    case LexKind::kName: return parse_name();
    case LexKind::kString: return parse_string();
    case LexKind::kInteger:
    case LexKind::kFloat: return parse_number();
    default: break;
  }
  if (cursor_.at_operator("(")) return parse_parentheses();
  if (cursor_.at_operator("[")) return parse_list();
  if (cursor_.at_operator("{")) return parse_dict();
  return cursor_.unexpected("an expression");
}

ExpressionParser::Node ExpressionParser::parse_name() {
  Expression& node = make(ExpressionKind::kLiteral);
  const std::string name = cursor_.take().text;
  if (name == "true" || name == "True") {
    node.literal = Value::boolean(true);
  } else if (name == "false" || name == "False") {
    node.literal = Value::boolean(false);
  } else if (name != "none" && name != "None") {
    node.kind = ExpressionKind::kName;
    node.name = name;
  }
  return &node;
}

ExpressionParser::Node ExpressionParser::parse_string() {
  Expression& node = make(ExpressionKind::kLiteral);
  std::string text;
  while (cursor_.at(LexKind::kString)) text += cursor_.take().text;
  node.literal = Value::text(text);
  return &node;
}

ExpressionParser::Node ExpressionParser::parse_number() {
  Expression& node = make(ExpressionKind::kLiteral);
  const Error bad = cursor_.unexpected("a number within 64 bits");
  const LexToken token = cursor_.take();
  const char* const end = token.text.data() + token.text.size();
  if (token.kind == LexKind::kFloat) {
    double number = 0;
    const auto read = std::from_chars(token.text.data(), end, number);
    if (read.ptr != end || read.ec != std::errc{}) return bad;
    node.literal = Value(number);
    return &node;
  }
  const char kind = token.text.size() > 1 ? static_cast<char>(token.text[1] | 32) : '0';
  const int base = kind == 'x' ? 16 : (kind == 'o' ? 8 : (kind == 'b' ? 2 : 10));
  std::int64_t number = 0;
  const auto read = std::from_chars(token.text.data() + (base == 10 ? 0 : 2), end, number, base);
  if (read.ptr != end || read.ec != std::errc{}) return bad;
  node.literal = Value::integer(number);
  return &node;
}

ExpressionParser::Node ExpressionParser::parse_parentheses() {
  cursor_.take();
  if (cursor_.take_operator(")")) return &make(ExpressionKind::kTuple);
  TRY(const Expression* const inside, parse_tuple(/*with_conditionals=*/true));
  TRY_OK(cursor_.expect_operator(")"));
  return inside;
}

ExpressionParser::Node ExpressionParser::parse_list() {
  Expression& list = make(ExpressionKind::kList);
  cursor_.take();
  while (!cursor_.take_operator("]")) {
    if (!list.operands.empty()) TRY_OK(cursor_.expect_operator(","));
    if (cursor_.take_operator("]")) break;
    TRY(const Expression* const item, parse_expression());
    list.operands.push_back(item);
  }
  return &list;
}

ExpressionParser::Node ExpressionParser::parse_dict() {
  Expression& dict = make(ExpressionKind::kDict);
  cursor_.take();
  while (!cursor_.take_operator("}")) {
    if (!dict.operands.empty()) TRY_OK(cursor_.expect_operator(","));
    if (cursor_.take_operator("}")) break;
    TRY(const Expression* const key, parse_expression());
    TRY_OK(cursor_.expect_operator(":"));
    TRY(const Expression* const value, parse_expression());
    dict.operands.push_back(key);
    dict.operands.push_back(value);
  }
  return &dict;
}

ExpressionParser::Node ExpressionParser::parse_steps(const Expression* base, bool with_filters) {
  std::vector<Step> steps;
  for (;;) {
    TRY(const bool taken, parse_step(steps, with_filters));
    if (!taken) break;
  }
  if (steps.empty()) return base;
  Expression& chain = make(ExpressionKind::kChain);
  chain.operands.push_back(base);
  chain.steps = std::move(steps);
  return &chain;
}

Result<bool> ExpressionParser::parse_step(std::vector<Step>& steps, bool with_filters) {
  if (with_filters && cursor_.take_operator("|")) {
    TRY_OK(parse_filter(steps));
    return true;
  }
  if (with_filters && cursor_.take_name("is")) {
    TRY_OK(parse_test(steps));
    return true;
  }
  Step step;
  step.line = cursor_.peek().line;
  if (cursor_.take_operator(".")) {
    if (cursor_.at(LexKind::kInteger)) {
      step.kind = StepKind::kItem;
      TRY(step.index, parse_number());
    } else {
      TRY(step.name, cursor_.expect_any_name("a name after \".\""));
    }
  } else if (cursor_.take_operator("[")) {
    TRY_OK(parse_subscript(step));
  } else if (cursor_.at_operator("(")) {
    step.kind = StepKind::kCall;
    TRY_OK(parse_arguments(step));
  } else {
    return false;
  }
  steps.push_back(std::move(step));
  return true;
}

Status ExpressionParser::parse_subscript(Step& step) {
  if (!cursor_.at_operator(":")) {
    TRY(step.index, parse_tuple(/*with_conditionals=*/true));
    if (cursor_.take_operator("]")) {
      step.kind = StepKind::kItem;
      return ok_status();
    }
    step.bounds[0] = step.index;
  }
  return parse_slice(step);
}

/// Behind the first bound of [a:b:c].
Status ExpressionParser::parse_slice(Step& step) {
  step.kind = StepKind::kSlice;
  for (std::size_t i = 1; i < 3 && cursor_.take_operator(":"); ++i) {
    if (cursor_.at_operator(":") || cursor_.at_operator("]")) continue;
    TRY(step.bounds[i], parse_expression());
  }
  return cursor_.expect_operator("]");
}

Status ExpressionParser::parse_arguments(Step& step) {
  TRY_OK(cursor_.expect_operator("("));
  bool named = false;
  while (!cursor_.take_operator(")")) {
    if (!step.arguments.empty()) TRY_OK(cursor_.expect_operator(","));
    if (cursor_.take_operator(")")) break;
    Argument argument;
    const bool has_name = cursor_.at(LexKind::kName) &&
                          cursor_.peek(1).kind == LexKind::kOperator && cursor_.peek(1).text == "=";
    if (has_name) {
      argument.name = cursor_.take().text;
      cursor_.take();
    } else if (named) {
      return cursor_.unexpected("a named argument after a named one");
    }
    named = has_name;
    TRY(argument.value, parse_expression());
    step.arguments.push_back(std::move(argument));
  }
  return ok_status();
}

Status ExpressionParser::parse_filter(std::vector<Step>& steps) {
  Step step;
  step.kind = StepKind::kFilter;
  step.line = cursor_.peek().line;
  TRY(step.name, cursor_.expect_any_name("the name of a filter"));
  step.filter = find_filter(step.name);
  const bool may_wait = cursor_.conditional() && !is_filter_of_jinja(step.name);
  if (step.filter == nullptr && !may_wait) {
    return unimplemented("chat template, line " + std::to_string(step.line) + ": filter \"" +
                         step.name + "\" is not known");
  }
  if (cursor_.at_operator("(")) TRY_OK(parse_arguments(step));
  steps.push_back(std::move(step));
  return ok_status();
}

Status ExpressionParser::parse_test(std::vector<Step>& steps) {
  Step step;
  step.line = cursor_.peek().line;
  step.kind = cursor_.take_name("not") ? StepKind::kNotTest : StepKind::kTest;
  TRY(step.name, cursor_.expect_any_name("the name of a test"));
  step.test = find_test(step.name);
  if (step.test == nullptr) {
    return unimplemented("chat template, line " + std::to_string(step.line) + ": test \"" +
                         step.name + "\" is not known");
  }
  if (cursor_.at_operator("(")) {
    TRY_OK(parse_arguments(step));
  } else {
    TRY_OK(parse_test_argument(step));
  }
  steps.push_back(std::move(step));
  return ok_status();
}

/// A test may have one argument without parentheses: x is divisibleby 3.
Status ExpressionParser::parse_test_argument(Step& step) {
  const LexKind kind = cursor_.peek().kind;
  const bool begins_value = kind == LexKind::kName || kind == LexKind::kString ||
                            kind == LexKind::kInteger || kind == LexKind::kFloat ||
                            cursor_.at_operator("[") || cursor_.at_operator("{");
  const bool is_keyword = cursor_.at_name("else") || cursor_.at_name("or") ||
                          cursor_.at_name("and") || cursor_.at_name("is") ||
                          cursor_.at_name("if") || cursor_.at_name("in") || cursor_.at_name("not");
  if (!begins_value || is_keyword) return ok_status();
  Argument argument;
  TRY_OK(cursor_.enter());
  TRY(const Expression* const primary, parse_primary());
  TRY(argument.value, parse_steps(primary, /*with_filters=*/false));
  cursor_.leave();
  step.arguments.push_back(std::move(argument));
  return ok_status();
}

}  // namespace kantha::text
