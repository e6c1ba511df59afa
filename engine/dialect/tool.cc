#include "engine/dialect/tool.h"

#include <algorithm>

namespace kantha::dialect {

const Tool* find_tool(const Tools& tools, std::string_view name) {
  const auto found = std::ranges::find(tools, name, &Tool::name);
  return found == tools.end() ? nullptr : &*found;
}

}  // namespace kantha::dialect
