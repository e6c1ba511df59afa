#include "base/json.h"

#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace kantha {
namespace {

/// Walks the text and leaves behind how far the parser has read, which its callbacks do not tell.
/// Costs a store for each byte; so only a text that is at fault is read with it.
class TrackedChar {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedChar(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  TrackedChar& operator++() {
    ++at_;
    *reached_ = at_;
    return *this;
  }
  TrackedChar operator++(int) {
    TrackedChar before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedChar& other) const { return at_ == other.at_; }
  bool operator!=(const TrackedChar& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// Takes the parser's events, builds the value, and stops at the first limit or duplicate key. The
/// parser keeps its own stack on the heap, so that neither side recurses.
template <class Value>
class Builder {
 public:
  Builder(const JsonLimits& limits, const char* begin) : limits_(limits), begin_(begin) {}

  /// Where the parser stands; updated by TrackedChar.
  const char** reached() { return &reached_; }
  Value take() && { return std::move(root_); }
  const std::string& error() const { return error_; }

  bool null() { return add(Value(nullptr)) != nullptr; }
  bool boolean(bool value) { return add(Value(value)) != nullptr; }
  bool number_integer(std::int64_t value) { return add(Value(value)) != nullptr; }
  bool number_unsigned(std::uint64_t value) { return add(Value(value)) != nullptr; }
  bool number_float(double value, const std::string&) { return add(Value(value)) != nullptr; }
  bool string(std::string& value) { return add(Value(std::move(value))) != nullptr; }
  bool binary(typename Value::binary_t&) { return fail("binary value"); }
  bool start_object(std::size_t) { return open(Value::object()); }
  bool start_array(std::size_t) { return open(Value::array()); }
  bool end_object() {
    if constexpr (kOrdered) keys_.pop_back();
    return close();
  }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    bool is_new = false;
    if constexpr (kOrdered) {
      is_new = keys_.back().insert(name).second;
    } else {
      auto& members = open_.back()->template get_ref<typename Value::object_t&>();
      const auto [member, inserted] = members.try_emplace(name, nullptr);
      member_ = &member->second;
      is_new = inserted;
    }
    if (!is_new) {
      return fail("duplicate key " +
                  Json(name.substr(0, 64)).dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    if constexpr (kOrdered) key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    // The parser counts characters read, the one at fault included.
    return fail_at(position == 0 ? 0 : position - 1, reason_of(e.what()));
  }

 private:
  /// Keeps the reason and drops the parser's prefix and its copy of foreign bytes.
  static std::string reason_of(std::string_view what) {
    if (const auto end = what.find("; last read"); end != what.npos) what = what.substr(0, end);
    if (const auto bracket = what.find("] "); bracket != what.npos) what.remove_prefix(bracket + 2);
    if (what.starts_with("parse error at line")) {
      if (const auto colon = what.find(": "); colon != what.npos) what.remove_prefix(colon + 2);
    }
    if (what.starts_with("syntax error while")) {
      if (const auto dash = what.find(" - "); dash != what.npos) what.remove_prefix(dash + 3);
    }
    return std::string(what.substr(0, 160));
  }

  bool fail_at(std::size_t offset, const std::string& reason) {
    if (error_.empty()) {
      error_ = "invalid JSON at byte " + std::to_string(offset) + ": " + reason;
    }
    return false;
  }
  bool fail(const std::string& reason) {
    const auto read = reached_ == nullptr ? 0 : reached_ - begin_;
    return fail_at(read == 0 ? 0 : static_cast<std::size_t>(read - 1), reason);
  }

  Value* add(Value value) {
    if (++nodes_ > limits_.nodes_max) {
      fail("more than " + std::to_string(limits_.nodes_max) + " values");
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Value& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    if constexpr (kOrdered) {
      // Its own insert looks through all members first; `key` has seen to duplicates already.
      auto& members = parent.template get_ref<typename Value::object_t&>();
      return &members.emplace_back(std::move(key_), std::move(value)).second;
    } else {
      *member_ = std::move(value);
      return member_;
    }
  }

  bool open(Value container) {
    if (open_.size() >= limits_.depth_max) {
      return fail("deeper than " + std::to_string(limits_.depth_max) + " levels");
    }
    const bool is_object = container.is_object();
    Value* placed = add(std::move(container));
    if (placed == nullptr) return false;
    open_.push_back(placed);
    if constexpr (kOrdered) {
      if (is_object) keys_.emplace_back();
    }
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  /// Its objects are vectors, which do not know their keys.
  static constexpr bool kOrdered = std::is_same_v<Value, OrderedJson>;

  const JsonLimits& limits_;
  const char* begin_;
  const char* reached_ = nullptr;
  std::size_t nodes_ = 0;
  Value root_;
  /// Open containers, outermost first. A parent is not touched while a child is open, so that the
  /// pointers stay good.
  std::vector<Value*> open_;
  std::vector<std::set<std::string>> keys_;  ///< of the open objects; kOrdered
  std::string key_;                          ///< of the member to come; kOrdered
  Value* member_ = nullptr;                  ///< the member to come; not kOrdered
  std::string error_;
};

/// nullopt: the text is at fault, and reading it again will tell where.
template <class Value>
std::optional<Value> parse_fast(std::string_view text, const JsonLimits& limits) {
  Builder<Value> builder(limits, text.data());
  try {
    if (!Value::sax_parse(text.data(), text.data() + text.size(), &builder)) return std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return std::move(builder).take();
}

template <class Value>
Result<Value> parse(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes_max) {
    return invalid_argument("JSON of " + std::to_string(text.size()) + " bytes, at most " +
                            std::to_string(limits.bytes_max) + " are allowed");
  }
  // The parser takes a NUL for the end of the text; in JSON it is nowhere allowed.
  if (const auto nul = text.find('\0'); nul != text.npos) {
    return invalid_argument("invalid JSON at byte " + std::to_string(nul) + ": NUL byte");
  }
  if (auto value = parse_fast<Value>(text, limits)) return *std::move(value);
  Builder<Value> builder(limits, text.data());
  const TrackedChar first(text.data(), builder.reached());
  const TrackedChar last(text.data() + text.size(), builder.reached());
  try {
    if (!Value::sax_parse(first, last, &builder)) return invalid_argument(builder.error());
  } catch (const std::exception& e) {
    return invalid_argument(std::string("invalid JSON: ") + e.what());
  }
  return std::move(builder).take();
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  return parse<Json>(text, limits);
}

Result<OrderedJson> parse_ordered_json(std::string_view text, const JsonLimits& limits) {
  return parse<OrderedJson>(text, limits);
}

std::string dump_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dump_json(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace kantha
