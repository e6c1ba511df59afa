#pragma once

#include <cstdint>
#include <optional>

#include "engine/text/template_call.h"
#include "engine/text/template_value.h"

/// What is inside of values: attributes, items, slices and the methods of texts and dicts.
namespace kantha::text {

class Evaluator;

/// value.name: methods first, then a dict's entries. Undefined when there is nothing of the name;
/// an error for an undefined value.
Result<Value> attribute_of(const Value& value, std::string_view name);
/// value[index]: entries and items first, then attributes.
Result<Value> item_of(const Value& value, const Value& index);
/// value[start:stop:step] of a list or a text (by code points).
Result<Value> slice_of(const Value& value, std::optional<std::int64_t> start,
                       std::optional<std::int64_t> stop, std::int64_t step);
/// Whether texts, dicts or lists have a method of the name in Python.
bool has_method(const Value& value, std::string_view name);
/// text.format(…) with plain fields; kUnimplemented names any other.
Result<Value> format_text(Evaluator& evaluator, const MarkedText& format,
                          const CallArguments& arguments);
/// kUnimplemented names a method of Python's that is not done here.
Result<Value> call_method(Evaluator& evaluator, const Method& method,
                          const CallArguments& arguments);

}  // namespace kantha::text
