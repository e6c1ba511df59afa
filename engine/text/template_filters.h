#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/text/template_call.h"

/// The filters that templates may use: value|name(arguments).
namespace kantha::text {

class Evaluator;

/// What running a filter costs in steps.
enum class FilterCost : std::uint8_t {
  kConstant,  ///< looks at one place
  kItems,     ///< walks the items, or copies a text
  kDeep,      ///< walks everything inside
};

struct Filter {
  using Run = Result<Value> (*)(Evaluator&, const Value&, const BoundArguments&);

  std::string_view name;
  std::span<const std::string_view> parameters;
  FilterCost cost = FilterCost::kItems;
  Run run = nullptr;
  bool takes_any = false;  ///< arguments go on to another filter or test: read BoundArguments::all
};

/// Null when there is none of that name.
const Filter* find_filter(std::string_view name);
/// Whether Jinja has a filter of the name that is not done here.
bool is_filter_of_jinja(std::string_view name);

/// The tables that find_filter searches, by what the filters work on.
std::span<const Filter> text_filters();
std::span<const Filter> list_filters();
std::span<const Filter> selection_filters();
std::span<const Filter> number_filters();

}  // namespace kantha::text
