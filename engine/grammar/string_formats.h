#pragma once

#include <optional>
#include <string_view>

/// Texts that JSON Schema's `format` names stand for.
namespace kantha::grammar {

/// A regex that matches only right ones, though not all: years are those that people use, labels
/// and names are short. Nothing when the format is unknown to JSON Schema, which then asserts
/// nothing; "" when it is known and not supported.
std::optional<std::string_view> format_regex(std::string_view format);

}  // namespace kantha::grammar
