#include "engine/text/template_parser.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace kantha::text {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kAfterIf = {"elif", "else", "endif"};
constexpr std::array<std::string_view, 1> kEndIf = {"endif"};
constexpr std::array<std::string_view, 2> kAfterFor = {"else", "endfor"};
constexpr std::array<std::string_view, 1> kEndFor = {"endfor"};
constexpr std::array<std::string_view, 1> kEndSet = {"endset"};
constexpr std::array<std::string_view, 1> kEndFilter = {"endfilter"};
constexpr std::array<std::string_view, 1> kEndMacro = {"endmacro"};
constexpr std::array<std::string_view, 1> kEndGeneration = {"endgeneration"};

class StatementParser {
 public:
  StatementParser(TemplateCursor& cursor, TemplateProgram& program)
      : cursor_(cursor), program_(program), expressions_(cursor, program) {}

  Status parse() {
    TRY(program_.body, parse_body({}));
    return ok_status();
  }

 private:
  Statement& make(StatementKind kind) {
    Statement& made = program_.statements.emplace_back();
    made.kind = kind;
    made.line = cursor_.peek().line;
    return made;
  }

  /// Statements up to a block with one of the names, which stays: its "{%" is taken, its name not.
  Result<Statements> parse_body(Names ends) {
    TRY_OK(cursor_.enter());
    Statements body;
    while (!cursor_.at(LexKind::kEnd)) {
      if (cursor_.at(LexKind::kText)) {
        Statement& text = make(StatementKind::kText);
        text.text = Value::text(cursor_.take().text);
        body.push_back(&text);
      } else if (cursor_.at(LexKind::kVariableBegin)) {
        TRY(const Statement* const output, parse_output());
        body.push_back(output);
      } else {
        TRY_OK(cursor_.expect(LexKind::kBlockBegin, "text or a tag"));
        const std::string_view name = cursor_.peek().text;
        const bool named = cursor_.at(LexKind::kName);
        if (named && std::find(ends.begin(), ends.end(), name) != ends.end()) {
          cursor_.leave();
          return body;
        }
        TRY(const Statement* const statement, parse_statement());
        body.push_back(statement);
      }
    }
    cursor_.leave();
    if (ends.empty()) return body;
    return cursor_.unexpected("{% " + std::string(ends.back()) + " %}");
  }

  Status end_block() { return cursor_.expect(LexKind::kBlockEnd, "\"%}\""); }

  /// The body after a block's own "%}", and its end tag.
  Result<Statements> parse_whole_body(Names ends) {
    TRY_OK(end_block());
    TRY(Statements body, parse_body(ends));
    cursor_.take();
    TRY_OK(end_block());
    return body;
  }

  Result<const Statement*> parse_output() {
    Statement& output = make(StatementKind::kOutput);
    cursor_.take();
    TRY(output.value, expressions_.parse_tuple(/*with_conditionals=*/true));
    TRY_OK(cursor_.expect(LexKind::kVariableEnd, "\"}}\""));
    return &output;
  }

  Result<const Statement*> parse_statement() {
    if (!cursor_.at(LexKind::kName)) return cursor_.unexpected("the name of a tag");
    if (cursor_.at_name("if")) return parse_if();
    if (cursor_.at_name("for")) return parse_for();
    if (cursor_.at_name("set")) return parse_set();
    if (cursor_.at_name("filter")) return parse_filter_block();
    if (cursor_.at_name("macro")) return parse_macro();
    if (cursor_.at_name("generation")) return parse_generation();
    if (cursor_.at_name("break")) return parse_jump(StatementKind::kBreak);
    if (cursor_.at_name("continue")) return parse_jump(StatementKind::kContinue);
    const std::string& name = cursor_.peek().text;
    const bool closes = name.starts_with("end") || name == "else" || name == "elif";
    if (closes) return cursor_.unexpected("a tag that may stand here");
    return unimplemented("chat template, line " + std::to_string(cursor_.peek().line) + ": tag \"" +
                         name.substr(0, 60) + "\" is not known");
  }

  Result<const Statement*> parse_if() {
    Statement& node = make(StatementKind::kIf);
    cursor_.take();
    cursor_.enter_condition();
    for (;;) {
      TRY(const Expression* const condition, expressions_.parse_tuple(false));
      TRY_OK(end_block());
      TRY(Statements body, parse_body(kAfterIf));
      node.branches.push_back({condition, std::move(body)});
      if (!cursor_.take_name("elif")) break;
    }
    if (cursor_.take_name("else")) {
      TRY_OK(end_block());
      TRY(Statements body, parse_body(kEndIf));
      node.branches.push_back({nullptr, std::move(body)});
    }
    cursor_.leave_condition();
    cursor_.take();
    TRY_OK(end_block());
    return &node;
  }

  /// "a", "a.b" (where attributes may be set), "a, b" or "(a, b)".
  Status parse_targets(Statement& node, bool with_attributes) {
    const bool parenthesised = cursor_.take_operator("(");
    do {
      if (!node.targets.empty()) node.unpacks = true;
      if (node.unpacks && !cursor_.at(LexKind::kName)) break;
      Target target;
      TRY(target.name, cursor_.expect_any_name("the name of a variable"));
      if (with_attributes && cursor_.take_operator(".")) {
        TRY(target.attribute, cursor_.expect_any_name("the name of an attribute"));
      }
      const bool constant = target.name == "true" || target.name == "false" ||
                            target.name == "none" || target.name == "True" ||
                            target.name == "False" || target.name == "None";
      if (constant) return cursor_.unexpected("a variable that can be set before this");
      node.targets.push_back(std::move(target));
    } while (cursor_.take_operator(","));
    return parenthesised ? cursor_.expect_operator(")") : ok_status();
  }

  Result<const Statement*> parse_for() {
    Statement& node = make(StatementKind::kFor);
    cursor_.take();
    TRY_OK(parse_targets(node, /*with_attributes=*/false));
    if (!cursor_.take_name("in")) return cursor_.unexpected("\"in\"");
    TRY(node.value, expressions_.parse_tuple(false));
    if (cursor_.take_name("if")) {
      TRY(node.condition, expressions_.parse_expression());
    }
    if (cursor_.at_name("recursive")) {
      return unimplemented("chat template, line " + std::to_string(node.line) +
                           ": recursive loops are not known");
    }
    TRY_OK(end_block());
    ++loops_;
    TRY(node.body, parse_body(kAfterFor));
    --loops_;
    if (cursor_.take_name("else")) {
      TRY_OK(end_block());
      TRY(node.otherwise, parse_body(kEndFor));
    }
    cursor_.take();
    TRY_OK(end_block());
    return &node;
  }

  Result<const Statement*> parse_set() {
    Statement& node = make(StatementKind::kSet);
    cursor_.take();
    TRY_OK(parse_targets(node, /*with_attributes=*/true));
    if (cursor_.take_operator("=")) {
      TRY(node.value, expressions_.parse_tuple(/*with_conditionals=*/true));
      TRY_OK(end_block());
      return &node;
    }
    node.kind = StatementKind::kSetBlock;
    if (node.unpacks) return cursor_.unexpected("\"=\"");
    while (cursor_.take_operator("|")) TRY_OK(expressions_.parse_filter(node.filters));
    TRY(node.body, parse_whole_body(kEndSet));
    return &node;
  }

  Result<const Statement*> parse_filter_block() {
    Statement& node = make(StatementKind::kFilterBlock);
    cursor_.take();
    do {
      TRY_OK(expressions_.parse_filter(node.filters));
    } while (cursor_.take_operator("|"));
    TRY(node.body, parse_whole_body(kEndFilter));
    return &node;
  }

  Result<const Statement*> parse_macro() {
    Statement& node = make(StatementKind::kMacro);
    cursor_.take();
    TRY(node.name, cursor_.expect_any_name("the name of a macro"));
    TRY_OK(cursor_.expect_operator("("));
    while (!cursor_.take_operator(")")) {
      if (!node.parameters.empty()) TRY_OK(cursor_.expect_operator(","));
      if (cursor_.take_operator(")")) break;
      Parameter parameter;
      TRY(parameter.name, cursor_.expect_any_name("the name of a parameter"));
      if (cursor_.take_operator("=")) {
        TRY(parameter.otherwise, expressions_.parse_expression());
      }
      node.parameters.push_back(std::move(parameter));
    }
    // A break inside a macro has no loop to end, wherever the macro stands.
    const std::size_t loops = std::exchange(loops_, 0);
    TRY(node.body, parse_whole_body(kEndMacro));
    loops_ = loops;
    return &node;
  }

  Result<const Statement*> parse_generation() {
    Statement& node = make(StatementKind::kScope);
    cursor_.take();
    TRY(node.body, parse_whole_body(kEndGeneration));
    return &node;
  }

  Result<const Statement*> parse_jump(StatementKind kind) {
    if (loops_ == 0) return cursor_.unexpected("a tag that may stand outside of loops");
    Statement& node = make(kind);
    cursor_.take();
    TRY_OK(end_block());
    return &node;
  }

  TemplateCursor& cursor_;
  TemplateProgram& program_;
  ExpressionParser expressions_;
  std::size_t loops_ = 0;
};

}  // namespace

Result<TemplateProgram> parse_template(std::string_view source, std::size_t depth_max) {
  TRY(std::vector<LexToken> tokens, lex_template(source));
  TemplateCursor cursor(std::move(tokens), depth_max);
  TemplateProgram program;
  TRY_OK(StatementParser(cursor, program).parse());
  return program;
}

}  // namespace kantha::text
