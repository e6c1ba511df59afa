#include "engine/text/template_filters.h"

#include <algorithm>
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

bool is_filter_of_jinja(std::string_view name) {
  constexpr std::array<std::string_view, 18> kRare = {
      "attr",    "batch",     "center",    "filesizeformat", "forceescape", "format",
      "groupby", "pprint",    "random",    "slice",          "striptags",   "sum",
      "urlize",  "urlencode", "wordcount", "wordwrap",       "xmlattr",     "truncate"};
  return find_filter(name) == nullptr && std::ranges::find(kRare, name) != kRare.end();
}

}  // namespace kantha::text
