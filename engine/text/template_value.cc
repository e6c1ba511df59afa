#include "engine/text/template_value.h"

#include <algorithm>
#include <cmath>

#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

/// A string that is equal for equal keys; nothing for kinds that cannot be a key.
std::optional<std::string> place_key(const Value& key) {
  if (const MarkedText* text = key.as_text()) return "s" + text->bytes();
  if (const auto number = key.as_integer()) return "n" + std::to_string(*number);
  if (const double* number = key.as<double>()) {
    const bool whole = std::abs(*number) < 9e15 && std::floor(*number) == *number;
    if (whole) return "n" + std::to_string(static_cast<std::int64_t>(*number));
    return "f" + std::to_string(*number);
  }
  if (key.is_none()) return "none";
  return std::nullopt;
}

/// Saturates far above any limit.
std::size_t add_weights(std::size_t left, std::size_t right) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  return std::min(left + right, kMost);
}

template <class T>
int order(const T& left, const T& right) {
  return left < right ? -1 : (right < left ? 1 : 0);
}

bool same_items(const std::vector<Value>& left, const std::vector<Value>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Value& a, const Value& b) { return a.equals(b); });
}

bool same_entries(const Dict& left, const Dict& right) {
  if (left.entries.size() != right.entries.size()) return false;
  return std::all_of(left.entries.begin(), left.entries.end(), [&](const auto& entry) {
    const Value* other = right.find(entry.first);
    return other != nullptr && entry.second.equals(*other);
  });
}

}  // namespace

const Value* Dict::find(const Value& key) const {
  const auto place = place_key(key);
  if (!place) return nullptr;
  const auto found = places.find(*place);
  return found == places.end() ? nullptr : &entries[found->second].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto found = places.find("s" + std::string(key));
  return found == places.end() ? nullptr : &entries[found->second].second;
}

bool Dict::set(Value key, Value value) {
  auto place = place_key(key);
  if (!place) return false;
  depth = std::max(depth, 1 + value.depth());
  weight = add_weights(weight, add_weights(key.weight(), value.weight()));
  const auto [entry, added] = places.try_emplace(std::move(*place), entries.size());
  if (added) {
    entries.emplace_back(std::move(key), std::move(value));
  } else {
    entries[entry->second].second = std::move(value);
  }
  return true;
}

Value Value::undefined(std::string words) {
  return Value(
      std::shared_ptr<const Undefined>(std::make_shared<Undefined>(Undefined{std::move(words)})));
}

Value Value::text(std::string_view bytes, bool from_input) {
  return text(MarkedText(bytes, from_input));
}

Value Value::text(MarkedText text) {
  return Value(Text(std::make_shared<MarkedText>(std::move(text))));
}

Value Value::list(std::vector<Value> items, bool is_tuple) {
  List list{std::move(items), is_tuple};
  for (const Value& item : list.items) {
    list.depth = std::max(list.depth, 1 + item.depth());
    list.weight = add_weights(list.weight, item.weight());
  }
  return Value(ListRef(std::make_shared<List>(std::move(list))));
}

Value Value::dict(Dict dict) { return Value(DictRef(std::make_shared<Dict>(std::move(dict)))); }

const MarkedText* Value::as_text() const {
  const Text* text = as<Text>();
  return text == nullptr ? nullptr : text->get();
}

const List* Value::as_list() const {
  const ListRef* list = as<ListRef>();
  return list == nullptr ? nullptr : list->get();
}

const Dict* Value::as_dict() const {
  const DictRef* dict = as<DictRef>();
  return dict == nullptr ? nullptr : dict->get();
}

std::optional<std::int64_t> Value::as_integer() const {
  if (const auto* number = as<std::int64_t>()) return *number;
  if (const bool* flag = as<bool>()) return *flag ? 1 : 0;
  return std::nullopt;
}

std::optional<double> Value::as_number() const {
  if (const double* number = as<double>()) return *number;
  if (const auto number = as_integer()) return static_cast<double>(*number);
  return std::nullopt;
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (const MarkedText* text = as_text()) return !text->empty();
  if (const List* list = as_list()) return !list->items.empty();
  if (const Dict* dict = as_dict()) return !dict->entries.empty();
  if (const auto number = as_number()) return *number != 0;
  return true;
}

std::size_t Value::depth() const {
  if (const List* list = as_list()) return list->depth;
  if (const Dict* dict = as_dict()) return dict->depth;
  // A method or a loop is a handle to a value, and one more link to walk when it is freed.
  if (const auto* method = as<std::shared_ptr<const Method>>()) return 1 + (*method)->self.depth();
  if (const auto* loop = as<std::shared_ptr<const Loop>>()) return 1 + (*loop)->items->depth;
  return 0;
}

std::size_t Value::weight() const {
  if (const MarkedText* text = as_text()) return 1 + text->size() / 64;
  if (const List* list = as_list()) return list->weight;
  if (const Dict* dict = as_dict()) return dict->weight;
  return 1;
}

std::string_view Value::type_name() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (as<bool>() != nullptr) return "bool";
  if (as<std::int64_t>() != nullptr) return "int";
  if (as<double>() != nullptr) return "float";
  if (as_text() != nullptr) return "str";
  if (const List* list = as_list()) return list->is_tuple ? "tuple" : "list";
  if (as_dict() != nullptr) return "dict";
  if (as<Namespace*>() != nullptr) return "Namespace";
  if (as<std::shared_ptr<const Loop>>() != nullptr) return "LoopContext";
  return "function";
}

bool Value::equals(const Value& other) const {
  if (is_undefined() || other.is_undefined()) return is_undefined() && other.is_undefined();
  if (is_none() || other.is_none()) return is_none() && other.is_none();
  const auto left_integer = as_integer();
  const auto right_integer = other.as_integer();
  if (left_integer && right_integer) return *left_integer == *right_integer;
  const auto left_number = as_number();
  const auto right_number = other.as_number();
  if (left_number && right_number) return *left_number == *right_number;
  if (as_text() != nullptr && other.as_text() != nullptr) {
    return as_text()->bytes() == other.as_text()->bytes();
  }
  if (as_list() != nullptr && other.as_list() != nullptr) {
    return as_list()->is_tuple == other.as_list()->is_tuple &&
           same_items(as_list()->items, other.as_list()->items);
  }
  if (as_dict() != nullptr && other.as_dict() != nullptr) {
    return same_entries(*as_dict(), *other.as_dict());
  }
  if (as<Namespace*>() != nullptr && other.as<Namespace*>() != nullptr) {
    return *as<Namespace*>() == *other.as<Namespace*>();
  }
  return false;
}

Error unusable(const Value& value, std::string_view doing) {
  if (const auto* undefined = value.as<std::shared_ptr<const Undefined>>()) {
    return invalid_argument((*undefined)->words);
  }
  return invalid_argument("a value of type " + std::string(value.type_name()) + " cannot be " +
                          std::string(doing));
}

Result<int> compare(const Value& left, const Value& right) {
  if (left.as_integer() && right.as_integer())
    return order(*left.as_integer(), *right.as_integer());
  if (left.as_number() && right.as_number()) return order(*left.as_number(), *right.as_number());
  if (left.as_text() != nullptr && right.as_text() != nullptr) {
    // The order of UTF-8 bytes is the order of code points.
    return order(left.as_text()->bytes().compare(right.as_text()->bytes()), 0);
  }
  if (left.as_list() != nullptr && right.as_list() != nullptr) {
    const auto& a = left.as_list()->items;
    const auto& b = right.as_list()->items;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (!a[i].equals(b[i])) return compare(a[i], b[i]);
    }
    return order(a.size(), b.size());
  }
  if (left.is_undefined()) return unusable(left, "compared");
  if (right.is_undefined()) return unusable(right, "compared");
  return invalid_argument("values of types " + std::string(left.type_name()) + " and " +
                          std::string(right.type_name()) + " have no order");
}

Result<std::vector<Value>> to_items(const Value& value) {
  std::vector<Value> items;
  if (value.is_undefined()) return items;
  if (const List* list = value.as_list()) return list->items;
  if (const Dict* dict = value.as_dict()) {
    for (const auto& [key, unused] : dict->entries) items.push_back(key);
    return items;
  }
  if (const MarkedText* text = value.as_text()) {
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t length = read_code_point(text->bytes(), at).length;
      items.push_back(Value::text(text->slice(at, length)));
      at += length;
    }
    return items;
  }
  return unusable(value, "iterated");
}

Result<std::size_t> length_of(const Value& value) {
  if (value.is_undefined()) return std::size_t{0};
  if (const List* list = value.as_list()) return list->items.size();
  if (const Dict* dict = value.as_dict()) return dict->entries.size();
  if (const MarkedText* text = value.as_text()) return count_code_points(text->bytes());
  return unusable(value, "measured");
}

}  // namespace kantha::text
