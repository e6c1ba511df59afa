#include <algorithm>
#include <array>

#include "engine/text/template_eval.h"
#include "engine/text/template_filters.h"
#include "engine/text/template_operators.h"
#include "engine/text/unicode_case.h"

namespace kantha::text {
namespace {

using Arguments = BoundArguments;

Result<Value> length(Evaluator& evaluator, const Value& value, const Arguments&) {
  if (const MarkedText* text = value.as_text()) TRY_OK(evaluator.spend_bytes(text->size()));
  TRY(const std::size_t count, length_of(value));
  return Value::integer(static_cast<std::int64_t>(count));
}

Result<Value> first(Evaluator& evaluator, const Value& value, const Arguments&) {
  if (const List* list = value.as_list()) {
    if (!list->items.empty()) return list->items.front();
  } else {
    TRY(const std::vector<Value> items, evaluator.items_of(value));
    if (!items.empty()) return items.front();
  }
  return Value::undefined("No first item, sequence was empty.");
}

Result<Value> last(Evaluator& evaluator, const Value& value, const Arguments&) {
  if (const List* list = value.as_list()) {
    if (!list->items.empty()) return list->items.back();
  } else {
    TRY(const std::vector<Value> items, evaluator.items_of(value));
    if (!items.empty()) return items.back();
  }
  return Value::undefined("No last item, sequence was empty.");
}

Result<Value> list(Evaluator& evaluator, const Value& value, const Arguments&) {
  TRY(std::vector<Value> items, evaluator.items_of(value));
  return Value::list(std::move(items));
}

Value pair_of(const std::pair<Value, Value>& entry) {
  return Value::list({entry.first, entry.second}, /*is_tuple=*/true);
}

Result<Value> items(Evaluator&, const Value& value, const Arguments&) {
  std::vector<Value> out;
  if (value.is_undefined()) return Value::list(std::move(out));
  if (value.as_dict() == nullptr) return unusable(value, "read as items: it is not a mapping");
  for (const auto& entry : value.as_dict()->entries) out.push_back(pair_of(entry));
  return Value::list(std::move(out));
}

Result<Value> reverse(Evaluator& evaluator, const Value& value, const Arguments&) {
  TRY(std::vector<Value> found, evaluator.items_of(value));
  std::reverse(found.begin(), found.end());
  if (value.as_text() == nullptr) return Value::list(std::move(found));
  MarkedText text;
  for (const Value& character : found) text.append(*character.as_text());
  return Value::text(std::move(text));
}

/// What a value is sorted by: an attribute of it, texts in lower case unless case matters.
Result<Value> sort_key(Evaluator& evaluator, const Value& value, const Value* attribute,
                       bool case_sensitive) {
  Value key = value;
  if (attribute != nullptr && !attribute->is_none()) {
    TRY(key, evaluator.look_inside(value, *attribute));
  }
  const MarkedText* text = key.as_text();
  if (case_sensitive || text == nullptr) return key;
  TRY_OK(evaluator.spend_bytes(text->size()));
  return Value::text(in_case(text->bytes(), LetterCase::kLower));
}

struct Keyed {
  Value key;
  Value value;
};

Result<std::vector<Keyed>> keyed(Evaluator& evaluator, const std::vector<Value>& values,
                                 const Value* attribute, bool case_sensitive) {
  std::vector<Keyed> out;
  for (const Value& value : values) {
    TRY(Value key, sort_key(evaluator, value, attribute, case_sensitive));
    out.push_back({std::move(key), value});
  }
  return out;
}

/// Merges the sorted runs from..middle and middle..end of `in` into `out`; equal ones keep their
/// order. A comparison that fails ends it.
Status merge_runs(const std::vector<Keyed>& in, std::size_t from, std::size_t middle,
                  std::size_t end, bool reversed, std::vector<Keyed>& out) {
  std::size_t left = from;
  std::size_t right = middle;
  while (left < middle && right < end) {
    TRY(const int order, compare(in[left].key, in[right].key));
    const bool takes_right = reversed ? order < 0 : order > 0;
    out.push_back(in[takes_right ? right++ : left++]);
  }
  while (left < middle) out.push_back(in[left++]);
  while (right < end) out.push_back(in[right++]);
  return ok_status();
}

/// A stable merge sort of our own: the standard one must not be given values without an order.
Status sort_keyed(Evaluator& evaluator, std::vector<Keyed>& entries, bool reversed) {
  std::size_t weight = 0;
  for (const Keyed& entry : entries) weight += entry.key.weight();
  for (std::size_t run = 1; run < entries.size(); run *= 2) {
    TRY_OK(evaluator.spend(weight / 4));
    std::vector<Keyed> merged;
    for (std::size_t from = 0; from < entries.size(); from += 2 * run) {
      const std::size_t middle = std::min(from + run, entries.size());
      const std::size_t end = std::min(from + 2 * run, entries.size());
      TRY_OK(merge_runs(entries, from, middle, end, reversed, merged));
    }
    entries = std::move(merged);
  }
  return ok_status();
}

Value values_of(const std::vector<Keyed>& entries) {
  std::vector<Value> out;
  for (const Keyed& entry : entries) out.push_back(entry.value);
  return Value::list(std::move(out));
}

Result<Value> sort(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  TRY(const std::vector<Value> found, evaluator.items_of(value));
  const Value* attribute = arguments.has(2) ? &arguments[2] : nullptr;
  TRY(std::vector<Keyed> entries, keyed(evaluator, found, attribute, arguments.flag(1, false)));
  TRY_OK(sort_keyed(evaluator, entries, arguments.flag(0, false)));
  return values_of(entries);
}

Result<Value> dictsort(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  if (value.as_dict() == nullptr) return unusable(value, "sorted as a dict");
  std::vector<Value> pairs;
  for (const auto& entry : value.as_dict()->entries) pairs.push_back(pair_of(entry));
  const bool by_value = arguments.has(1) && arguments[1].equals(Value::text("value"));
  const Value place = Value::integer(by_value ? 1 : 0);
  TRY(std::vector<Keyed> entries, keyed(evaluator, pairs, &place, arguments.flag(0, false)));
  TRY_OK(sort_keyed(evaluator, entries, arguments.flag(2, false)));
  return values_of(entries);
}

Result<Value> unique(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  TRY(const std::vector<Value> found, evaluator.items_of(value));
  const Value* attribute = arguments.has(1) ? &arguments[1] : nullptr;
  TRY(const std::vector<Keyed> entries,
      keyed(evaluator, found, attribute, arguments.flag(0, false)));
  Dict seen;
  std::vector<Value> out;
  for (const Keyed& entry : entries) {
    if (seen.find(entry.key) != nullptr) continue;
    if (!seen.set(entry.key, Value())) return unusable(entry.key, "compared for uniqueness");
    out.push_back(entry.value);
  }
  return Value::list(std::move(out));
}

template <bool kGreatest>
Result<Value> extreme(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  TRY(const std::vector<Value> found, evaluator.items_of(value));
  if (found.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const Value* attribute = arguments.has(1) ? &arguments[1] : nullptr;
  TRY(const std::vector<Keyed> entries,
      keyed(evaluator, found, attribute, arguments.flag(0, false)));
  const Keyed* best = &entries.front();
  for (const Keyed& entry : entries) {
    TRY_OK(evaluator.spend(entry.key.weight()));
    TRY(const int order, compare(entry.key, best->key));
    if (kGreatest ? order > 0 : order < 0) best = &entry;
  }
  return best->value;
}

Result<Value> sum(Evaluator& evaluator, const Value& value, const Arguments& arguments) {
  TRY(const std::vector<Value> found, evaluator.items_of(value));
  Value total = arguments.has(1) ? arguments[1] : Value::integer(0);
  for (const Value& item : found) {
    Value one = item;
    if (arguments.has(0) && !arguments[0].is_none()) {
      TRY(one, evaluator.look_inside(item, arguments[0]));
    }
    TRY_OK(evaluator.spend(1 + total.weight()));
    TRY(total, arithmetic(Operator::kAdd, total, one, evaluator.limits().output_bytes_max));
  }
  return total;
}

constexpr std::array<std::string_view, 3> kSort = {"reverse", "case_sensitive", "attribute"};
constexpr std::array<std::string_view, 3> kDictsort = {"case_sensitive", "by", "reverse"};
constexpr std::array<std::string_view, 2> kUnique = {"case_sensitive", "attribute"};
constexpr std::array<std::string_view, 2> kSum = {"attribute", "start"};

constexpr std::array kFilters = {
    Filter{"count", {}, FilterCost::kConstant, length},
    Filter{"dictsort", kDictsort, FilterCost::kItems, dictsort},
    Filter{"first", {}, FilterCost::kConstant, first},
    Filter{"items", {}, FilterCost::kItems, items},
    Filter{"last", {}, FilterCost::kConstant, last},
    Filter{"length", {}, FilterCost::kConstant, length},
    Filter{"list", {}, FilterCost::kItems, list},
    Filter{"max", kUnique, FilterCost::kItems, extreme<true>},
    Filter{"min", kUnique, FilterCost::kItems, extreme<false>},
    Filter{"reverse", {}, FilterCost::kItems, reverse},
    Filter{"sort", kSort, FilterCost::kItems, sort},
    Filter{"sum", kSum, FilterCost::kItems, sum},
    Filter{"unique", kUnique, FilterCost::kItems, unique},
};

}  // namespace

std::span<const Filter> list_filters() { return kFilters; }

}  // namespace kantha::text
