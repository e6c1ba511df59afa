#pragma once

#include "engine/text/template_ast.h"
#include "engine/text/template_value.h"

/// Python's operators over template values. The caller charges what they cost.
namespace kantha::text {

/// + - * / // % ** and ~. kInvalidArgument for kinds that do not fit and for zero divisors,
/// kOutOfRange beyond 64-bit integers or for results longer than `bytes_max`.
Result<Value> arithmetic(Operator which, const Value& left, const Value& right,
                         std::size_t bytes_max);
/// == != < <= > >= in, not in.
Result<bool> compare_by(Operator which, const Value& left, const Value& right);
/// Where `needle` is in `text` from `from` on, or npos; linear time for any text.
std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from = 0);

}  // namespace kantha::text
