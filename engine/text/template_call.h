#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/template_value.h"

/// Arguments of calls in templates.
namespace kantha::text {

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Arguments by parameter; nothing where none was given. `all` has them as they were written.
struct BoundArguments {
  std::vector<std::optional<Value>> values;
  const CallArguments* all = nullptr;

  bool has(std::size_t i) const { return i < values.size() && values[i].has_value(); }
  const Value& operator[](std::size_t i) const { return *values[i]; }
  /// The argument's truth, or `otherwise` where none was given.
  bool flag(std::size_t i, bool otherwise) const {
    return has(i) ? values[i]->truthy() : otherwise;
  }
  /// kInvalidArgument when one was given that is of another kind.
  Result<std::int64_t> integer(std::size_t i, std::int64_t otherwise) const;
};

/// kInvalidArgument for too many arguments, unknown names and one parameter given twice; `what`
/// names the function.
Result<BoundArguments> bind_arguments(std::string_view what,
                                      std::span<const std::string_view> parameters,
                                      const CallArguments& arguments);

}  // namespace kantha::text
