#include "engine/text/template_eval.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/text/template_access.h"
#include "engine/text/template_operators.h"
#include "engine/text/template_tests.h"

namespace kantha::text {

Result<Value> Evaluator::eval(const Expression& expression) {
  TRY_OK(spend(1));
  if (++depth_ > 8 * limits_.depth_max) {
    return Error{Code::kOutOfRange, "chat template: calls nested too deeply"};
  }
  Result<Value> value = eval_inside(expression);
  --depth_;
  return value;
}

Result<Value> Evaluator::eval_inside(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::kLiteral: return expression.literal;
    case ExpressionKind::kName: return eval_name(expression);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple: return eval_list(expression);
    case ExpressionKind::kDict: return eval_dict(expression);
    case ExpressionKind::kArithmetic: return eval_arithmetic(expression);
    case ExpressionKind::kComparison: return eval_comparison(expression);
    case ExpressionKind::kMinus:
    case ExpressionKind::kPlus: return eval_sign(expression);
    case ExpressionKind::kConditional: return eval_conditional(expression);
    case ExpressionKind::kChain: return eval_chain(expression);
    case ExpressionKind::kNot: {
      TRY(const Value value, eval(*expression.operands[0]));
      return Value::boolean(!value.truthy());
    }
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr: break;
  }
  const bool stops_at = expression.kind == ExpressionKind::kOr;
  Value value;
  for (const Expression* operand : expression.operands) {
    TRY(value, eval(*operand));
    if (value.truthy() == stops_at) break;
  }
  return value;
}

Result<Value> Evaluator::eval_name(const Expression& expression) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (const Value* value = scope->find(expression.name)) return *value;
  }
  return Value::undefined("'" + expression.name + "' is undefined");
}

Result<Value> Evaluator::eval_list(const Expression& expression) {
  std::vector<Value> items;
  for (const Expression* operand : expression.operands) {
    TRY(Value item, eval(*operand));
    items.push_back(std::move(item));
  }
  return checked(Value::list(std::move(items), expression.kind == ExpressionKind::kTuple));
}

Result<Value> Evaluator::eval_dict(const Expression& expression) {
  Dict dict;
  for (std::size_t i = 0; i < expression.operands.size(); i += 2) {
    TRY(Value key, eval(*expression.operands[i]));
    TRY(Value value, eval(*expression.operands[i + 1]));
    const Value kept = key;
    if (!dict.set(std::move(key), std::move(value))) return unusable(kept, "the key of a dict");
  }
  return checked(Value::dict(std::move(dict)));
}

/// Charges what an operator copies or walks, before it does.
Status Evaluator::spend_operation(Operator which, const Value& left, const Value& right) {
  switch (which) {
    case Operator::kAdd:
    case Operator::kMultiply:
    case Operator::kConcat: {
      std::size_t bytes = 0;
      for (const Value* side : {&left, &right}) {
        if (const MarkedText* text = side->as_text()) {
          bytes += text->size();
        } else if (which == Operator::kConcat) {
          TRY_OK(spend(side->weight()));
        } else if (const List* list = side->as_list()) {
          bytes += 16 * list->items.size();
        }
      }
      const auto times = left.as_integer() ? left.as_integer() : right.as_integer();
      if (which == Operator::kMultiply && times && *times > 0) {
        const auto limit = static_cast<std::int64_t>(limits_.output_bytes_max);
        bytes *= static_cast<std::size_t>(std::min(*times, limit));
      }
      return spend_bytes(bytes);
    }
    case Operator::kIn:
    case Operator::kNotIn:
      if (const MarkedText* text = right.as_text()) return spend_bytes(text->size());
      return spend(right.weight() / 16);
    default: return spend(std::min(left.weight(), right.weight()) / 16);
  }
}

Result<Value> Evaluator::eval_arithmetic(const Expression& expression) {
  TRY(Value value, eval(*expression.operands[0]));
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    TRY(const Value operand, eval(*expression.operands[i + 1]));
    const Operator which = expression.operators[i];
    TRY_OK(spend_operation(which, value, operand));
    TRY(value, arithmetic(which, value, operand, limits_.output_bytes_max));
    TRY(value, checked(std::move(value)));
  }
  return value;
}

Result<Value> Evaluator::eval_comparison(const Expression& expression) {
  TRY(Value left, eval(*expression.operands[0]));
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    TRY(Value right, eval(*expression.operands[i + 1]));
    TRY_OK(spend_operation(expression.operators[i], left, right));
    TRY(const bool holds, compare_by(expression.operators[i], left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Evaluator::eval_sign(const Expression& expression) {
  TRY(const Value value, eval(*expression.operands[0]));
  const Operator which =
      expression.kind == ExpressionKind::kMinus ? Operator::kSubtract : Operator::kAdd;
  if (const double* number = value.as<double>()) {
    return Value(which == Operator::kSubtract ? -*number : *number);
  }
  if (!value.as_integer()) return unusable(value, "given a sign");
  return arithmetic(which, Value::integer(0), value, limits_.output_bytes_max);
}

Result<Value> Evaluator::eval_conditional(const Expression& expression) {
  TRY(const Value condition, eval(*expression.operands[1]));
  if (condition.truthy()) return eval(*expression.operands[0]);
  if (expression.operands[2] != nullptr) return eval(*expression.operands[2]);
  return Value::undefined("a conditional expression without else had no value");
}

Result<Value> Evaluator::eval_chain(const Expression& expression) {
  TRY(Value value, eval(*expression.operands[0]));
  for (const Step& step : expression.steps) {
    TRY_OK(spend(1));
    TRY(value, eval_step(value, step));
  }
  return value;
}

Result<Value> Evaluator::eval_step(const Value& value, const Step& step) {
  switch (step.kind) {
    case StepKind::kAttribute: return attribute_of(value, step.name);
    case StepKind::kItem: {
      TRY(const Value index, eval(*step.index));
      if (const MarkedText* text = value.as_text()) TRY_OK(spend_bytes(text->size()));
      return item_of(value, index);
    }
    case StepKind::kSlice: return eval_slice(value, step);
    case StepKind::kCall: return call(value, step);
    case StepKind::kFilter: {
      TRY(const CallArguments arguments, eval_arguments(step.arguments));
      if (step.filter == nullptr) return invalid_argument("no filter named '" + step.name + "'");
      return apply_filter(*step.filter, value, arguments);
    }
    case StepKind::kTest:
    case StepKind::kNotTest: break;
  }
  TRY(const CallArguments arguments, eval_arguments(step.arguments));
  if (!arguments.positional.empty()) TRY_OK(spend(arguments.positional[0].weight() / 16));
  TRY(const bool holds, apply_test(*step.test, value, arguments));
  return Value::boolean(holds == (step.kind == StepKind::kTest));
}

Result<Value> Evaluator::eval_slice(const Value& value, const Step& step) {
  std::array<std::optional<std::int64_t>, 3> bounds;
  for (std::size_t i = 0; i < 3; ++i) {
    if (step.bounds[i] == nullptr) continue;
    TRY(const Value bound, eval(*step.bounds[i]));
    if (bound.is_none()) continue;
    bounds[i] = bound.as_integer();
    if (!bounds[i]) return unusable(bound, "the bound of a slice");
  }
  if (const MarkedText* text = value.as_text()) TRY_OK(spend_bytes(4 * text->size()));
  if (const List* list = value.as_list()) TRY_OK(spend(list->items.size() / 16));
  return slice_of(value, bounds[0], bounds[1], bounds[2].value_or(1));
}

Result<CallArguments> Evaluator::eval_arguments(const std::vector<Argument>& arguments) {
  CallArguments evaluated;
  for (const Argument& argument : arguments) {
    TRY(Value value, eval(*argument.value));
    if (argument.name.empty()) {
      evaluated.positional.push_back(std::move(value));
    } else {
      evaluated.named.emplace_back(argument.name, std::move(value));
    }
  }
  return evaluated;
}

Result<Value> Evaluator::call(const Value& function, const Step& step) {
  TRY(const CallArguments arguments, eval_arguments(step.arguments));
  if (const auto* macro = function.as<const Statement*>()) return call_macro(**macro, arguments);
  if (const auto* global = function.as<GlobalFunction>()) return call_global(*global, arguments);
  if (const auto* method = function.as<std::shared_ptr<const Method>>()) {
    if (const MarkedText* text = (*method)->self.as_text()) TRY_OK(spend_bytes(text->size()));
    TRY(Value value, call_method(*this, **method, arguments));
    return checked(std::move(value));
  }
  return unusable(function, "called");
}

Result<Value> Evaluator::apply_filter(const Filter& filter, const Value& value,
                                      const CallArguments& arguments) {
  switch (filter.cost) {
    case FilterCost::kConstant: TRY_OK(spend(1)); break;
    case FilterCost::kDeep: TRY_OK(spend(value.weight())); break;
    case FilterCost::kItems: {
      if (const MarkedText* text = value.as_text()) TRY_OK(spend_bytes(text->size()));
      if (const List* list = value.as_list()) TRY_OK(spend(list->items.size() / 4));
      if (const Dict* dict = value.as_dict()) TRY_OK(spend(dict->entries.size() / 4));
    }
  }
  BoundArguments bound;
  bound.all = &arguments;
  if (!filter.takes_any) {
    TRY(bound, bind_arguments("filter \"" + std::string(filter.name) + "\"", filter.parameters,
                              arguments));
  }
  TRY(Value result, filter.run(*this, value, bound));
  return checked(std::move(result));
}

Result<Value> Evaluator::look_inside(const Value& value, const Value& path) {
  TRY_OK(spend(1));
  const MarkedText* names = path.as_text();
  if (names == nullptr) return item_of(value, path);
  Value found = value;
  const std::string& text = names->bytes();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t dot = std::min(text.find('.', at), text.size());
    const std::string part = text.substr(at, dot - at);
    std::int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool number =
        !part.empty() && read.ptr == part.data() + part.size() && read.ec == std::errc{};
    TRY(found, item_of(found, number ? Value::integer(index) : Value::text(part)));
    at = dot + 1;
  }
  return found;
}

}  // namespace kantha::text
