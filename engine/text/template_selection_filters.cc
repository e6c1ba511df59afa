#include <algorithm>
#include <array>

#include "engine/text/template_eval.h"
#include "engine/text/template_filters.h"
#include "engine/text/template_tests.h"

namespace kantha::text {
namespace {

using Arguments = BoundArguments;

Result<std::string> name_argument(const CallArguments& arguments, std::size_t i,
                                  std::string_view what) {
  const bool given =
      i < arguments.positional.size() && arguments.positional[i].as_text() != nullptr;
  if (!given) return invalid_argument("expected the name of " + std::string(what));
  return arguments.positional[i].as_text()->bytes();
}

CallArguments arguments_from(const CallArguments& all, std::size_t first) {
  CallArguments rest;
  const auto begin =
      all.positional.begin() + static_cast<std::ptrdiff_t>(std::min(first, all.positional.size()));
  rest.positional.assign(begin, all.positional.end());
  rest.named = all.named;
  return rest;
}

/// map(attribute="name", default=…): what is inside of each item.
Result<Value> map_attribute(Evaluator& evaluator, const std::vector<Value>& items,
                            const CallArguments& arguments) {
  constexpr std::array<std::string_view, 2> kNames = {"attribute", "default"};
  CallArguments named;
  named.named = arguments.named;
  TRY(const BoundArguments bound, bind_arguments("filter \"map\"", kNames, named));
  if (!bound.has(0)) return invalid_argument("filter \"map\": expected a filter or an attribute");
  std::vector<Value> out;
  for (const Value& item : items) {
    TRY(Value value, evaluator.look_inside(item, bound[0]));
    if (value.is_undefined() && bound.has(1)) value = bound[1];
    out.push_back(std::move(value));
  }
  return Value::list(std::move(out));
}

Result<Value> map(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  if (!value.truthy()) return Value::list({});  // none counts as empty, as in Jinja
  TRY(const std::vector<Value> items, evaluator.items_of(value));
  if (arguments.all->positional.empty()) return map_attribute(evaluator, items, *arguments.all);
  TRY(const std::string name, name_argument(*arguments.all, 0, "a filter"));
  const Filter* filter = find_filter(name);
  if (filter == nullptr) return unimplemented("filter \"" + name + "\" is not known");
  // A map of maps of maps would call itself as deeply as the list of names is long.
  if (filter->takes_any) return unimplemented("filter \"" + name + "\" inside of \"map\"");
  const CallArguments rest = arguments_from(*arguments.all, 1);
  std::vector<Value> out;
  for (const Value& item : items) {
    TRY(Value mapped, evaluator.apply_filter(*filter, item, rest));
    out.push_back(std::move(mapped));
  }
  return Value::list(std::move(out));
}

/// select, reject, selectattr, rejectattr.
template <bool kKeeps, bool kByAttribute>
Result<Value> choose(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  const CallArguments& all = *arguments.all;
  if (!value.truthy()) return Value::list({});
  TRY(const std::vector<Value> items, evaluator.items_of(value));
  const std::size_t test_at = kByAttribute ? 1 : 0;
  if (kByAttribute && all.positional.empty()) return invalid_argument("expected an attribute");
  const Test* test = nullptr;
  if (all.positional.size() > test_at) {
    TRY(const std::string name, name_argument(all, test_at, "a test"));
    test = find_test(name);
    if (test == nullptr) return unimplemented("test \"" + name + "\" is not known");
  }
  const CallArguments rest = arguments_from(all, test_at + 1);
  std::vector<Value> out;
  for (const Value& item : items) {
    Value tested = item;
    if (kByAttribute) {
      TRY(tested, evaluator.look_inside(item, all.positional[0]));
    }
    TRY_OK(evaluator.spend(1 + tested.weight() / 16));
    bool holds = tested.truthy();
    if (test != nullptr) {
      TRY(holds, apply_test(*test, tested, rest));
    }
    if (holds == kKeeps) out.push_back(item);
  }
  return Value::list(std::move(out));
}

constexpr std::array kFilters = {
    Filter{"map", {}, FilterCost::kItems, map, true},
    Filter{"reject", {}, FilterCost::kItems, choose<false, false>, true},
    Filter{"rejectattr", {}, FilterCost::kItems, choose<false, true>, true},
    Filter{"select", {}, FilterCost::kItems, choose<true, false>, true},
    Filter{"selectattr", {}, FilterCost::kItems, choose<true, true>, true},
};

}  // namespace

std::span<const Filter> selection_filters() { return kFilters; }

}  // namespace kantha::text
