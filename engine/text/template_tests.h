#pragma once

#include <string_view>

#include "engine/text/template_call.h"

/// The tests that templates may use: value is name(arguments).
namespace kantha::text {

struct Test {
  using Run = Result<bool> (*)(const Value&, const BoundArguments&);

  std::string_view name;
  std::size_t arguments = 0;  ///< how many it needs, no more and no less
  Run run = nullptr;
};

/// Null when there is none of that name.
const Test* find_test(std::string_view name);
/// `value is test(arguments)`.
Result<bool> apply_test(const Test& test, const Value& value, const CallArguments& arguments);

}  // namespace kantha::text
