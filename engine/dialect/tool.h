#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

/// The functions that a request offers to the model. Plain data.
namespace kantha::dialect {

struct Tool {
  std::string name;
  OrderedJson parameters = nullptr;  ///< JSON schema of the arguments, or null: no parameters
  bool strict = false;               ///< the arguments must be of the schema
  std::string path = {};             ///< of the schema in the request, for errors
};

using Tools = std::vector<Tool>;
using SharedTools = std::shared_ptr<const Tools>;

/// Null when there is none of that name.
const Tool* find_tool(const Tools& tools, std::string_view name);

}  // namespace kantha::dialect
