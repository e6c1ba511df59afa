#include "engine/text/template_filters.h"

#include <array>

namespace kantha::text {

const Filter* find_filter(std::string_view name) {
  const std::array<std::span<const Filter>, 4> tables = {text_filters(), list_filters(),
                                                         selection_filters(), number_filters()};
  for (const auto table : tables) {
    for (const Filter& filter : table) {
      if (filter.name == name) return &filter;
    }
  }
  return nullptr;
}

}  // namespace kantha::text
