#include "engine/text/template_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/text/template_print.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

constexpr std::size_t kInputDepthMax = 100;

Result<Value> convert(const OrderedJson& json, bool from_input, std::size_t depth) {
  if (depth > kInputDepthMax) {
    return Error{Code::kOutOfRange,
                 "a value nested deeper than " + std::to_string(kInputDepthMax) + " levels"};
  }
  switch (json.type()) {
    case OrderedJson::value_t::boolean: return Value::boolean(json.get<bool>());
    case OrderedJson::value_t::number_integer: return Value::integer(json.get<std::int64_t>());
    case OrderedJson::value_t::number_unsigned: {
      const auto number = json.get<std::uint64_t>();
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (number > kMost) return Value(static_cast<double>(number));
      return Value::integer(static_cast<std::int64_t>(number));
    }
    case OrderedJson::value_t::number_float: return Value(json.get<double>());
    case OrderedJson::value_t::string:
      return Value::text(json.get_ref<const std::string&>(), from_input);
    case OrderedJson::value_t::array: {
      std::vector<Value> items;
      for (const OrderedJson& item : json) {
        TRY(Value value, convert(item, from_input, depth + 1));
        items.push_back(std::move(value));
      }
      return Value::list(std::move(items));
    }
    case OrderedJson::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items()) {
        TRY(Value value, convert(item, from_input, depth + 1));
        dict.set(Value::text(key, from_input), std::move(value));
      }
      return Value::dict(std::move(dict));
    }
    default: return Value();
  }
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, std::size_t bytes_max)
      : style_(style), bytes_max_(bytes_max) {}

  Status write(const Value& value, std::size_t level) {
    if (out_.size() > bytes_max_) {
      return Error{Code::kOutOfRange,
                   "a JSON text of more than " + std::to_string(bytes_max_) + " bytes"};
    }
    if (const MarkedText* text = value.as_text()) {
      write_string(*text);
    } else if (const List* list = value.as_list()) {
      return write_list(*list, level);
    } else if (const Dict* dict = value.as_dict()) {
      return write_dict(*dict, level);
    } else if (value.is_none()) {
      out_ += "null";
    } else if (const bool* flag = value.as<bool>()) {
      out_ += *flag ? "true" : "false";
    } else if (const auto number = value.as_integer()) {
      out_ += std::to_string(*number);
    } else if (const double* real = value.as<double>()) {
      write_float(*real);
    } else {
      return unusable(value, "written as JSON");
    }
    return ok_status();
  }

  MarkedText take() { return MarkedText(out_, has_input_); }

 private:
  void write_float(double number) {
    if (std::isnan(number))
      out_ += "NaN";
    else if (std::isinf(number))
      out_ += number < 0 ? "-Infinity" : "Infinity";
    else
      out_ += print_float(number);
  }

  void write_unit(char32_t unit) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out_ += kDigits[(unit >> shift) & 15];
  }

  void write_code(char32_t code) {
    switch (code) {
      case '"': out_ += "\\\""; return;
      case '\\': out_ += "\\\\"; return;
      case '\n': out_ += "\\n"; return;
      case '\r': out_ += "\\r"; return;
      case '\t': out_ += "\\t"; return;
      case '\b': out_ += "\\b"; return;
      case '\f': out_ += "\\f"; return;
      default: break;
    }
    if (code < 0x20 || (style_.ascii_only && code >= 0x7F && code < 0x10000)) {
      write_unit(code);
    } else if (style_.ascii_only && code >= 0x10000) {
      write_unit(0xD800 + ((code - 0x10000) >> 10));
      write_unit(0xDC00 + ((code - 0x10000) & 0x3FF));
    } else {
      append_code_point(out_, code);
    }
  }

  void write_string(const MarkedText& text) {
    has_input_ = has_input_ || text.any_input();
    out_ += '"';
    for (std::size_t at = 0; at < text.size();) {
      const CodePoint point = read_code_point(text.bytes(), at);
      write_code(point.code);
      at += point.length;
    }
    out_ += '"';
  }

  void new_line(std::size_t level) {
    if (style_.indent) out_ += "\n" + std::string(level * *style_.indent, ' ');
  }

  void separate() {
    if (style_.item_separator) {
      out_ += *style_.item_separator;
    } else {
      out_ += style_.indent ? "," : ", ";
    }
  }

  Status write_list(const List& list, std::size_t level) {
    out_ += '[';
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) separate();
      new_line(level + 1);
      TRY_OK(write(list.items[i], level + 1));
    }
    if (!list.items.empty()) new_line(level);
    out_ += ']';
    return ok_status();
  }

  Status write_key(const Value& key) {
    if (const MarkedText* text = key.as_text()) {
      write_string(*text);
      return ok_status();
    }
    out_ += '"';
    TRY_OK(write(key, 0));
    out_ += '"';
    return ok_status();
  }

  static Status sort_entries(std::vector<const std::pair<Value, Value>*>& entries) {
    for (const auto* entry : entries) {
      if (entry->first.as_text() == nullptr) return unusable(entry->first, "sorted as a key");
    }
    std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) {
      return a->first.as_text()->bytes() < b->first.as_text()->bytes();
    });
    return ok_status();
  }

  Status write_dict(const Dict& dict, std::size_t level) {
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sorted_keys) TRY_OK(sort_entries(entries));
    out_ += '{';
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) separate();
      new_line(level + 1);
      TRY_OK(write_key(entries[i]->first));
      out_ += style_.key_separator;
      TRY_OK(write(entries[i]->second, level + 1));
    }
    if (!entries.empty()) new_line(level);
    out_ += '}';
    return ok_status();
  }

  const JsonStyle& style_;
  std::size_t bytes_max_;
  std::string out_;
  bool has_input_ = false;
};

}  // namespace

Result<Value> value_from_json(const OrderedJson& json, bool from_input) {
  return convert(json, from_input, 0);
}

Result<MarkedText> value_to_json(const Value& value, const JsonStyle& style,
                                 std::size_t bytes_max) {
  JsonWriter writer(style, bytes_max);
  TRY_OK(writer.write(value, 0));
  return writer.take();
}

}  // namespace kantha::text
