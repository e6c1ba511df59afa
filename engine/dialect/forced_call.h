#pragma once

#include <string>
#include <string_view>

#include "engine/dialect/syntax.h"

namespace kantha::dialect {

/// How a call begins in the model's own way of writing, up to where its arguments begin, or with an
/// empty `name` up to where the name begins. Given to the model as its own words, it is what makes
/// a call certain. Text, the marks of which may be control tokens. Empty for kNone.
std::string call_opening(const ToolSyntax& syntax, std::string_view name);

/// What ends reasoning that has gone on for long enough.
std::string reasoning_end(const ReasoningSyntax& reasoning);

}  // namespace kantha::dialect
