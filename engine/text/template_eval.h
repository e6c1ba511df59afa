#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/text/chat_template.h"
#include "engine/text/template_ast.h"
#include "engine/text/template_call.h"
#include "engine/text/template_filters.h"

/// Runs a parsed template. One object per rendering, one thread.
namespace kantha::text {

class Evaluator {
 public:
  /// `program` outlives the rendering.
  Evaluator(const TemplateProgram& program, const TemplateLimits& limits, const Clock& clock)
      : program_(program), limits_(limits), clock_(clock) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  Result<MarkedText> run(std::vector<std::pair<std::string, Value>> globals);

  // What filters and methods need.

  /// Counts work; kOutOfRange beyond the limit.
  Status spend(std::size_t steps);
  Status spend_bytes(std::size_t bytes) { return spend(bytes / 256); }
  /// What a for loop sees. Each byte of a text costs a step, as each character becomes a value.
  Result<std::vector<Value>> items_of(const Value& value);
  /// The value, when it is not too deep or too heavy to be handled with bounded stack and time.
  Result<Value> checked(Value value);
  Result<Value> apply_filter(const Filter& filter, const Value& value,
                             const CallArguments& arguments);
  /// value["name"] or value.name, as filters look up attributes; "a.b.0" goes inside.
  Result<Value> look_inside(const Value& value, const Value& path);
  const TemplateLimits& limits() const { return limits_; }
  const Clock& clock() const { return clock_; }

 private:
  enum class Flow { kNext, kBreak, kContinue };
  /// Variables of one block; names are the program's.
  struct Scope {
    const Scope* outer = nullptr;
    std::vector<std::pair<std::string_view, Value>> variables = {};

    const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);
  };
  class Nesting;

  // template_statements.cc
  Result<Flow> run_body(const Statements& body);
  Result<Flow> run_statement(const Statement& statement);
  Result<Flow> run_if(const Statement& statement);
  Result<Flow> run_for(const Statement& statement);
  Result<Flow> run_iteration(const Statement& statement, const std::shared_ptr<const List>& items,
                             std::size_t index);
  Result<std::vector<Value>> loop_items(const Statement& statement);
  Result<Flow> run_in_scope(const Statements& body);
  Result<MarkedText> capture(const Statements& body, Scope& scope);
  Status run_output(const Statement& statement);
  Status run_set(const Statement& statement);
  Result<Value> filtered_body(const Statement& statement);
  Status run_set_block(const Statement& statement);
  Status run_filter_block(const Statement& statement);
  Status assign(const std::vector<Target>& targets, bool unpacks, Value value);
  Status assign_one(const Target& target, Value value);
  Status emit(const MarkedText& text);
  Status emit_value(const Value& value);
  Result<Value> call_macro(const Statement& macro, const CallArguments& arguments);
  Error located(Error error, std::uint32_t line);

  // template_expressions_eval.cc
  Result<Value> eval(const Expression& expression);
  Result<Value> eval_inside(const Expression& expression);
  Result<Value> eval_name(const Expression& expression);
  Result<Value> eval_list(const Expression& expression);
  Result<Value> eval_dict(const Expression& expression);
  Result<Value> eval_arithmetic(const Expression& expression);
  Result<Value> eval_comparison(const Expression& expression);
  Result<Value> eval_sign(const Expression& expression);
  Result<Value> eval_conditional(const Expression& expression);
  Result<Value> eval_chain(const Expression& expression);
  Result<Value> eval_step(const Value& value, const Step& step);
  Result<Value> eval_slice(const Value& value, const Step& step);
  Result<Value> call(const Value& function, const Step& step);
  Result<CallArguments> eval_arguments(const std::vector<Argument>& arguments);
  Status spend_operation(Operator which, const Value& left, const Value& right);

  // template_globals.cc
  Result<Value> call_global(GlobalFunction function, const CallArguments& arguments);
  Result<Value> make_range(const CallArguments& arguments);
  Result<Value> make_namespace(const CallArguments& arguments);
  Result<Value> raise(const CallArguments& arguments);

  const TemplateProgram& program_;
  TemplateLimits limits_;
  const Clock& clock_;
  std::size_t steps_ = 0;
  std::size_t depth_ = 0;
  Scope root_;
  Scope* scope_ = &root_;
  MarkedText* out_ = nullptr;
  bool located_ = false;  ///< the error on its way up names its place already
  std::vector<std::unique_ptr<Namespace>> namespaces_;
};

}  // namespace kantha::text
