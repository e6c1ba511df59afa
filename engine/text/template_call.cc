#include "engine/text/template_call.h"

#include <algorithm>

namespace kantha::text {

Result<std::int64_t> BoundArguments::integer(std::size_t i, std::int64_t otherwise) const {
  if (!has(i)) return otherwise;
  const auto number = values[i]->as_integer();
  if (!number) return unusable(*values[i], "used as an integer");
  return *number;
}

Result<BoundArguments> bind_arguments(std::string_view what,
                                      std::span<const std::string_view> parameters,
                                      const CallArguments& arguments) {
  BoundArguments bound;
  bound.all = &arguments;
  bound.values.resize(parameters.size());
  if (arguments.positional.size() > parameters.size()) {
    return invalid_argument(std::string(what) + ": expected at most " +
                            std::to_string(parameters.size()) + " arguments, got " +
                            std::to_string(arguments.positional.size()));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) {
    bound.values[i] = arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.named) {
    const auto at = std::find(parameters.begin(), parameters.end(), name);
    const auto index = static_cast<std::size_t>(at - parameters.begin());
    if (at == parameters.end() || bound.values[index]) {
      return invalid_argument(std::string(what) + ": unexpected argument \"" + name + "\"");
    }
    bound.values[index] = value;
  }
  return bound;
}

}  // namespace kantha::text
