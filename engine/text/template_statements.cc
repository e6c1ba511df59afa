#include <algorithm>
#include <utility>

#include "engine/text/template_eval.h"
#include "engine/text/template_operators.h"

namespace kantha::text {

/// Counts nested evaluations, so that the machine's stack has a known bound.
class Evaluator::Nesting {
 public:
  explicit Nesting(std::size_t& depth) : depth_(depth) { ++depth_; }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  std::size_t& depth_;
};

const Value* Evaluator::Scope::find(std::string_view name) const {
  for (const auto& [known, value] : variables) {
    if (known == name) return &value;
  }
  return nullptr;
}

void Evaluator::Scope::set(std::string_view name, Value value) {
  for (auto& [known, old] : variables) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

Result<MarkedText> Evaluator::run(std::vector<std::pair<std::string, Value>> globals) {
  Scope given;
  for (const auto& [name, value] : globals) given.set(name, value);
  root_.outer = &given;
  MarkedText out;
  out_ = &out;
  TRY_OK(run_body(program_.body));
  return out;
}

Status Evaluator::spend(std::size_t steps) {
  steps_ += std::min(steps, limits_.steps_max + 1);
  if (steps_ <= limits_.steps_max) return ok_status();
  return Error{Code::kOutOfRange,
               "chat template: more than " + std::to_string(limits_.steps_max) + " steps"};
}

Result<std::vector<Value>> Evaluator::items_of(const Value& value) {
  if (const MarkedText* text = value.as_text()) TRY_OK(spend(text->size()));
  if (const List* list = value.as_list()) TRY_OK(spend(list->items.size() / 16));
  return to_items(value);
}

Result<Value> Evaluator::checked(Value value) {
  if (value.depth() > kValueDepthMax || value.weight() > kValueWeightMax) {
    return Error{Code::kOutOfRange, "chat template: a list or dict of more than " +
                                        std::to_string(kValueDepthMax) + " levels or " +
                                        std::to_string(kValueWeightMax) + " parts"};
  }
  return value;
}

/// Adds the line to an error of the statement that it comes from; the template's own words stay as
/// they are.
Error Evaluator::located(Error error, std::uint32_t line) {
  if (std::exchange(located_, true)) return error;
  const bool is_limit = error.code == Code::kOutOfRange;
  const bool places = error.code == Code::kInvalidArgument || error.code == Code::kUnimplemented;
  if (!places && !is_limit) return error;
  constexpr std::string_view kPlace = "chat template: ";
  if (is_limit && error.message.starts_with(kPlace)) error.message.erase(0, kPlace.size());
  return std::move(error).with_context("chat template, line " + std::to_string(line));
}

Result<Evaluator::Flow> Evaluator::run_body(const Statements& body) {
  const Nesting nesting(depth_);
  if (depth_ > 8 * limits_.depth_max) {
    return located(Error{Code::kOutOfRange, "calls nested too deeply"},
                   body.empty() ? 1 : body.front()->line);
  }
  for (const Statement* statement : body) {
    if (Status spent = spend(1); !spent.ok()) return located(spent.error(), statement->line);
    Result<Flow> flow = run_statement(*statement);
    if (!flow.ok()) return located(std::move(flow).error(), statement->line);
    if (flow.value() != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kText: TRY_OK(emit(*statement.text.as_text())); break;
    case StatementKind::kOutput: TRY_OK(run_output(statement)); break;
    case StatementKind::kIf: return run_if(statement);
    case StatementKind::kFor: return run_for(statement);
    case StatementKind::kSet: TRY_OK(run_set(statement)); break;
    case StatementKind::kSetBlock: TRY_OK(run_set_block(statement)); break;
    case StatementKind::kFilterBlock: TRY_OK(run_filter_block(statement)); break;
    case StatementKind::kMacro: scope_->set(statement.name, Value(&statement)); break;
    case StatementKind::kScope: return run_in_scope(statement.body);
    case StatementKind::kBreak: return Flow::kBreak;
    case StatementKind::kContinue: return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_if(const Statement& statement) {
  for (const Branch& branch : statement.branches) {
    if (branch.condition != nullptr) {
      TRY(const Value condition, eval(*branch.condition));
      if (!condition.truthy()) continue;
    }
    return run_body(branch.body);
  }
  return Flow::kNext;
}

/// The items that the loop's own condition lets through.
Result<std::vector<Value>> Evaluator::loop_items(const Statement& statement) {
  TRY(const Value sequence, eval(*statement.value));
  TRY(std::vector<Value> items, items_of(sequence));
  if (statement.condition == nullptr) return items;
  std::vector<Value> chosen;
  for (Value& item : items) {
    Scope scope{scope_};
    Scope* const outer = std::exchange(scope_, &scope);
    TRY_OK(assign(statement.targets, statement.unpacks, item));
    TRY(const Value condition, eval(*statement.condition));
    scope_ = outer;
    if (condition.truthy()) chosen.push_back(std::move(item));
  }
  return chosen;
}

Result<Evaluator::Flow> Evaluator::run_iteration(const Statement& statement,
                                                 const std::shared_ptr<const List>& items,
                                                 std::size_t index) {
  Scope scope{scope_};
  Scope* const outer = std::exchange(scope_, &scope);
  scope.set("loop", Value(std::shared_ptr<const Loop>(std::make_shared<Loop>(Loop{items, index}))));
  TRY_OK(assign(statement.targets, statement.unpacks, items->items[index]));
  Result<Flow> flow = run_body(statement.body);
  scope_ = outer;
  return flow;
}

Result<Evaluator::Flow> Evaluator::run_for(const Statement& statement) {
  TRY(std::vector<Value> found, loop_items(statement));
  if (found.empty()) return run_in_scope(statement.otherwise);
  TRY(const Value list, checked(Value::list(std::move(found))));
  const std::shared_ptr<const List> items = *list.as<Value::ListRef>();
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    TRY_OK(spend(1));
    TRY(const Flow flow, run_iteration(statement, items, i));
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::run_in_scope(const Statements& body) {
  Scope scope{scope_};
  Scope* const outer = std::exchange(scope_, &scope);
  Result<Flow> flow = run_body(body);
  scope_ = outer;
  return flow;
}

/// What a body prints, run in `scope`.
Result<MarkedText> Evaluator::capture(const Statements& body, Scope& scope) {
  MarkedText text;
  Scope* const outer = std::exchange(scope_, &scope);
  MarkedText* const out = std::exchange(out_, &text);
  TRY_OK(run_body(body));
  scope_ = outer;
  out_ = out;
  return text;
}

Status Evaluator::emit(const MarkedText& text) {
  TRY_OK(spend_bytes(text.size()));
  if (out_->size() + text.size() > limits_.output_bytes_max) {
    return Error{Code::kOutOfRange, "chat template: more than " +
                                        std::to_string(limits_.output_bytes_max) +
                                        " bytes of output"};
  }
  out_->append(text);
  return ok_status();
}

Status Evaluator::run_output(const Statement& statement) {
  TRY(const Value value, eval(*statement.value));
  return emit_value(value);
}

Status Evaluator::emit_value(const Value& value) {
  if (const MarkedText* text = value.as_text()) return emit(*text);
  TRY_OK(spend(value.weight()));
  TRY(const MarkedText text, to_text(value));
  return emit(text);
}

Status Evaluator::run_set(const Statement& statement) {
  TRY(Value value, eval(*statement.value));
  return assign(statement.targets, statement.unpacks, std::move(value));
}

/// What the body prints, through the statement's filters.
Result<Value> Evaluator::filtered_body(const Statement& statement) {
  Scope scope{scope_};
  TRY(MarkedText text, capture(statement.body, scope));
  Value value = Value::text(std::move(text));
  for (const Step& filter : statement.filters) {
    TRY(const CallArguments arguments, eval_arguments(filter.arguments));
    if (filter.filter == nullptr) return invalid_argument("no filter named '" + filter.name + "'");
    TRY(value, apply_filter(*filter.filter, value, arguments));
  }
  return value;
}

Status Evaluator::run_set_block(const Statement& statement) {
  TRY(Value value, filtered_body(statement));
  return assign_one(statement.targets[0], std::move(value));
}

Status Evaluator::run_filter_block(const Statement& statement) {
  TRY(const Value value, filtered_body(statement));
  return emit_value(value);
}

Status Evaluator::assign(const std::vector<Target>& targets, bool unpacks, Value value) {
  if (!unpacks) return assign_one(targets[0], std::move(value));
  TRY(std::vector<Value> items, items_of(value));
  if (items.size() != targets.size()) {
    return invalid_argument("expected " + std::to_string(targets.size()) +
                            " values to unpack, got " + std::to_string(items.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) TRY_OK(assign_one(targets[i], items[i]));
  return ok_status();
}

Status Evaluator::assign_one(const Target& target, Value value) {
  if (target.attribute.empty()) {
    scope_->set(target.name, std::move(value));
    return ok_status();
  }
  const Value* holder = nullptr;
  for (const Scope* scope = scope_; scope != nullptr && holder == nullptr; scope = scope->outer) {
    holder = scope->find(target.name);
  }
  Namespace* const* space = holder == nullptr ? nullptr : holder->as<Namespace*>();
  if (space == nullptr) {
    return invalid_argument("cannot set " + target.name + "." + target.attribute +
                            ": only a namespace has attributes that can be set");
  }
  (*space)->values.insert_or_assign(target.attribute, std::move(value));
  return ok_status();
}

Result<Value> Evaluator::call_macro(const Statement& macro, const CallArguments& arguments) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : macro.parameters) names.push_back(parameter.name);
  TRY(const BoundArguments bound, bind_arguments("macro \"" + macro.name + "\"", names, arguments));
  Scope scope{&root_};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    if (bound.has(i)) {
      scope.set(names[i], bound[i]);
    } else if (parameter.otherwise == nullptr) {
      scope.set(names[i], Value::undefined("parameter \"" + parameter.name + "\" was not given"));
    } else {
      Scope* const outer = std::exchange(scope_, &scope);
      TRY(Value otherwise, eval(*parameter.otherwise));
      scope_ = outer;
      scope.set(names[i], std::move(otherwise));
    }
  }
  TRY(MarkedText text, capture(macro.body, scope));
  return Value::text(std::move(text));
}

}  // namespace kantha::text
