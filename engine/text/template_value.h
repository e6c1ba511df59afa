#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "engine/text/marked_text.h"

/// The values that a chat template computes with: Python's, as far as templates need them.
///
/// Strings, lists and dicts are immutable and shared; nothing can contain itself, and containers
/// know how deep they are, so that walking and freeing them needs bounded stack.
namespace kantha::text {

class Value;
struct Statement;
struct Namespace;

/// A name or attribute that is not there; `words` say so when somebody uses it.
struct Undefined {
  std::string words;
};

struct List {
  std::vector<Value> items;
  bool is_tuple = false;
  std::size_t depth = 1;   ///< 1 + the deepest item's
  std::size_t weight = 1;  ///< see Value::weight
};

/// Entries in the order of insertion, found through a hash of the key.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::unordered_map<std::string, std::size_t> places;
  std::size_t depth = 1;
  std::size_t weight = 1;

  /// Null when absent or when the key is of a kind that cannot be one.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  /// Adds or replaces; false when the key is of a kind that cannot be one.
  bool set(Value key, Value value);
};

/// Where a for loop stands.
struct Loop {
  std::shared_ptr<const List> items;
  std::size_t index = 0;  ///< from 0
};

/// A function of an object, such as text.strip.
struct Method;

/// The functions that are there without being defined.
enum class GlobalFunction : std::uint8_t { kRange, kNamespace, kRaise, kStrftimeNow, kDict };

class Value {
 public:
  struct None {};
  using Text = std::shared_ptr<const MarkedText>;
  using ListRef = std::shared_ptr<const List>;
  using DictRef = std::shared_ptr<const Dict>;
  using Variant =
      std::variant<std::shared_ptr<const Undefined>, None, bool, std::int64_t, double, Text,
                   ListRef, DictRef, std::shared_ptr<const Loop>, std::shared_ptr<const Method>,
                   Namespace*, const Statement*, GlobalFunction>;

  Value() : variant_(None{}) {}
  template <class T>
    requires(!std::is_same_v<T, Value>) &&
            std::is_constructible_v<Variant, std::in_place_type_t<T>, T>
  explicit Value(T value) : variant_(std::in_place_type<T>, std::move(value)) {}

  static Value undefined(std::string words);
  static Value text(std::string_view bytes, bool from_input = false);
  static Value text(MarkedText text);
  static Value integer(std::int64_t number) { return Value(number); }
  static Value boolean(bool value) { return Value(value); }
  static Value list(std::vector<Value> items, bool is_tuple = false);
  static Value dict(Dict dict);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&variant_);
  }
  bool is_undefined() const { return as<std::shared_ptr<const Undefined>>() != nullptr; }
  bool is_none() const { return as<None>() != nullptr; }
  /// Null when it is something else.
  const MarkedText* as_text() const;
  const List* as_list() const;
  const Dict* as_dict() const;
  /// Booleans count as 0 and 1, as in Python.
  std::optional<std::int64_t> as_integer() const;
  /// Also of an integer.
  std::optional<double> as_number() const;

  bool truthy() const;
  /// How many containers are inside each other, 0 for plain values.
  std::size_t depth() const;
  /// What walking it costs: its parts, counted as often as they are reached, long texts as several.
  std::size_t weight() const;
  /// "str", "int", "dict", … as Python names it.
  std::string_view type_name() const;
  /// Equal as Python has it: 1 == 1.0 == True, containers item by item.
  bool equals(const Value& other) const;

 private:
  Variant variant_;
};

struct Method {
  Value self;
  std::string name;
};

/// Variables that a template may change from inside loops. Owned by the rendering, so that one that
/// holds itself does not leak.
struct Namespace {
  std::unordered_map<std::string, Value> values;
};

/// The most containers inside each other that a value may have.
inline constexpr std::size_t kValueDepthMax = 200;
/// The most parts that a value may have; sharing counts double, so that a list of itself twice, and
/// so on fifty times, is refused when it is made and not when it is printed.
inline constexpr std::size_t kValueWeightMax = 2'000'000;

/// str(value). kInvalidArgument for functions and namespaces.
Result<MarkedText> to_text(const Value& value);
/// -1, 0 or 1; kInvalidArgument when the two have no order.
Result<int> compare(const Value& left, const Value& right);
/// What a for loop sees: items, keys, characters; nothing for undefined. kInvalidArgument
/// otherwise.
Result<std::vector<Value>> to_items(const Value& value);
/// Number of items or code points; kInvalidArgument for values without a length.
Result<std::size_t> length_of(const Value& value);
/// The error of using `value` in a way that it does not have.
Error unusable(const Value& value, std::string_view doing);

}  // namespace kantha::text
