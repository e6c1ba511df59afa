#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/text/template_value.h"

/// A parsed template. Nodes live in two flat arrays and point to each other, so that freeing a deep
/// tree needs no stack. Chains (a + b + c, a.b.c, x|f|g) are lists, so that only true nesting is
/// deep.
namespace kantha::text {

struct Expression;
struct Filter;
struct Test;

/// An argument of a call; `name` is empty for positional ones.
struct Argument {
  std::string name;
  const Expression* value = nullptr;
};

enum class StepKind : std::uint8_t { kAttribute, kItem, kSlice, kCall, kFilter, kTest, kNotTest };

/// One link of a chain behind a value: .name, [index], [a:b:c], (arguments), |filter, is test.
struct Step {
  StepKind kind = StepKind::kAttribute;
  std::uint32_t line = 0;
  std::string name;                           ///< attribute, filter or test
  const Filter* filter = nullptr;             ///< kFilter
  const Test* test = nullptr;                 ///< kTest, kNotTest
  const Expression* index = nullptr;          ///< kItem
  std::array<const Expression*, 3> bounds{};  ///< kSlice; null: left out
  std::vector<Argument> arguments;
};

enum class Operator : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kConcat,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

enum class ExpressionKind : std::uint8_t {
  kLiteral,      ///< literal
  kName,         ///< name
  kList,         ///< operands
  kTuple,        ///< operands
  kDict,         ///< operands: key, value, key, value, …
  kArithmetic,   ///< operands joined by operators, from the left
  kComparison,   ///< the same; true when every neighbouring pair holds
  kAnd,          ///< operands
  kOr,           ///< operands
  kNot,          ///< operands[0]
  kMinus,        ///< operands[0]
  kPlus,         ///< operands[0]
  kConditional,  ///< operands: value, condition, other (null: undefined)
  kChain,        ///< operands[0], then steps
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kLiteral;
  std::uint32_t line = 0;
  Value literal;
  std::string name;
  std::vector<const Expression*> operands;
  std::vector<Operator> operators;
  std::vector<Step> steps;
};

enum class StatementKind : std::uint8_t {
  kText,         ///< text
  kOutput,       ///< value
  kIf,           ///< branches
  kFor,          ///< targets, value, condition, body, otherwise
  kSet,          ///< targets, value
  kSetBlock,     ///< targets[0], body, filters
  kFilterBlock,  ///< body, filters
  kMacro,        ///< name, parameters, body
  kScope,        ///< body, printed in a scope of its own
  kBreak,
  kContinue,
};

struct Statement;
using Statements = std::vector<const Statement*>;

struct Branch {
  const Expression* condition = nullptr;  ///< null: else
  Statements body;
};

/// What a set or a loop assigns to: a variable, or an attribute of a namespace.
struct Target {
  std::string name;
  std::string attribute;
};

struct Parameter {
  std::string name;
  const Expression* otherwise = nullptr;  ///< null: undefined
};

struct Statement {
  StatementKind kind = StatementKind::kText;
  std::uint32_t line = 0;
  Value text;
  const Expression* value = nullptr;
  const Expression* condition = nullptr;
  std::vector<Target> targets;
  bool unpacks = false;  ///< the targets take the items of one value
  std::vector<Branch> branches;
  Statements body;
  Statements otherwise;
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Step> filters;
};

struct TemplateProgram {
  std::deque<Expression> expressions;
  std::deque<Statement> statements;
  Statements body;
};

}  // namespace kantha::text
