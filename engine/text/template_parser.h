#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/text/template_ast.h"
#include "engine/text/template_lexer.h"

/// Tokens to tree. Grammar: Jinja 3.1's, without includes, inheritance and call blocks.
namespace kantha::text {

/// kInvalidArgument with line and what was expected; kUnimplemented names the tag, filter or test;
/// kOutOfRange when tags and brackets are nested deeper than `depth_max`.
Result<TemplateProgram> parse_template(std::string_view source, std::size_t depth_max);

/// Reads tokens one after the other; shared by the two halves of the parser.
class TemplateCursor {
 public:
  TemplateCursor(std::vector<LexToken> tokens, std::size_t depth_max)
      : tokens_(std::move(tokens)), depth_max_(depth_max) {}

  const LexToken& peek(std::size_t ahead = 0) const;
  LexToken take();
  bool at(LexKind kind) const { return peek().kind == kind; }
  bool at_operator(std::string_view text) const { return is(LexKind::kOperator, text); }
  bool at_name(std::string_view text) const { return is(LexKind::kName, text); }
  /// Takes the operator or name when it is next.
  bool take_operator(std::string_view text);
  bool take_name(std::string_view text);
  Status expect_operator(std::string_view text);
  Status expect(LexKind kind, std::string_view what);
  Result<std::string> expect_any_name(std::string_view what);
  /// "expected WHAT, got …" with the line.
  Error unexpected(std::string_view what) const;

  /// One more level of nesting, until leave().
  Status enter();
  void leave() { --depth_; }
  /// Inside of an if, where Jinja minds an unknown filter only when it is used.
  bool conditional() const { return conditions_ > 0; }
  void enter_condition() { ++conditions_; }
  void leave_condition() { --conditions_; }

 private:
  bool is(LexKind kind, std::string_view text) const {
    return peek().kind == kind && peek().text == text;
  }

  std::vector<LexToken> tokens_;
  std::size_t next_ = 0;
  std::size_t depth_ = 0;
  std::size_t depth_max_;
  std::size_t conditions_ = 0;
};

/// Parses expressions into `program`.
class ExpressionParser {
 public:
  ExpressionParser(TemplateCursor& cursor, TemplateProgram& program)
      : cursor_(cursor), program_(program) {}

  using Node = Result<const Expression*>;
  /// One expression, conditional ones (a if b else c) among them.
  Node parse_expression();
  /// The same without conditionals.
  Node parse_condition() { return parse_or(); }
  /// One expression, or several with commas as a tuple.
  Node parse_tuple(bool with_conditionals);
  /// "|name(…)" or "name(…)" once; adds to `steps`.
  Status parse_filter(std::vector<Step>& steps);

 private:
  Expression& make(ExpressionKind kind);
  Node parse_conditional();
  Node parse_or();
  Node parse_and();
  Node parse_not();
  Node parse_comparison();
  Node parse_sum();
  Node parse_concat();
  Node parse_product();
  Node parse_power();
  Node parse_unary(bool with_filters);
  Node parse_unary_inside(bool with_filters);
  Node parse_primary();
  Node parse_number();
  Node parse_string();
  Node parse_name();
  Node parse_parentheses();
  Node parse_list();
  Node parse_dict();
  Node parse_steps(const Expression* base, bool with_filters);
  Result<bool> parse_step(std::vector<Step>& steps, bool with_filters);
  Status parse_subscript(Step& step);
  Status parse_slice(Step& step);
  Status parse_arguments(Step& step);
  Status parse_test(std::vector<Step>& steps);
  Status parse_test_argument(Step& step);
  template <class Next, class OperatorAt>
  Node parse_joined(ExpressionKind kind, Next next, OperatorAt operator_at);

  TemplateCursor& cursor_;
  TemplateProgram& program_;
};

}  // namespace kantha::text
