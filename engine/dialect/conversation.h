#pragma once

#include "base/json.h"
#include "engine/dialect/template_traits.h"

/// Conversations with functions, as a template takes them. Pure; any thread.
namespace kantha::dialect {

/// The messages for the template: calls with their arguments as it wants them (an object, unless
/// the text is none), ids as it wants them; for a dialect with its own prompt the functions are
/// described in the system message, and calls and results are text. `messages` is ChatRequest's
/// array, `tools` the request's array or null.
OrderedJson messages_for(const Dialect& dialect, const OrderedJson& messages,
                         const OrderedJson& tools);

/// What the template gets as `tools`: null for a dialect with its own prompt.
OrderedJson tools_for(const Dialect& dialect, const OrderedJson& tools);

/// Nine letters and digits for any id; one that is so already stays.
std::string short_call_id(const std::string& id);

}  // namespace kantha::dialect
