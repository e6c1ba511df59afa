#include "engine/dialect/python_literal.h"

#include <string_view>
#include <utility>

#include "base/json.h"
#include "engine/dialect/json_bytes.h"

namespace kantha::dialect {
namespace {

constexpr std::size_t kDepthMax = 64;
constexpr std::size_t kWordBytesMax = 128;

bool is_word(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '.' || byte == '-' || byte == '+';
}

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool is_hex(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') ||
         (byte >= 'A' && byte <= 'F');
}

/// JSON of a Python word; empty when it has none.
std::string json_word(const std::string& word) {
  if (word == "True" || word == "true") return "true";
  if (word == "False" || word == "false") return "false";
  if (word == "None" || word == "null") return "null";
  std::string number;
  for (const char byte : word) {
    if (byte != '_') number.push_back(byte);
  }
  if (number.starts_with('+')) number.erase(0, 1);
  if (number.starts_with('.')) number.insert(0, "0");
  if (number.starts_with("-.")) number.insert(1, "0");
  if (number.ends_with('.')) number += "0";
  const std::size_t first = number.starts_with('-') ? 1 : 0;
  while (number.size() > first + 1 && number[first] == '0' && is_digit(number[first + 1])) {
    number.erase(first, 1);  // 07: neither Python's nor JSON's, and what models write
  }
  return Json::accept(number) ? number : std::string();
}

}  // namespace

PythonLiteral::Step PythonLiteral::take(char byte, std::string& json) {
  switch (state_) {
    case State::kValue: return take_value(byte, json);
    case State::kText: return take_text(byte, json);
    case State::kEscape: return take_escape(byte, json);
    case State::kDigits: return take_digits(byte, json);
    case State::kWord: {
      if (is_word(byte)) {
        word_.push_back(byte);
        return word_.size() <= kWordBytesMax ? Step::kMore : Step::kBroken;
      }
      if (!end_word(json)) return Step::kBroken;
      if (open_.empty()) return Step::kPast;
      state_ = State::kAfter;
      return take_after(byte, json);
    }
    case State::kAfter: return take_after(byte, json);
  }
  return Step::kBroken;
}

void PythonLiteral::put_comma(std::string& json) {
  if (std::exchange(comma_, false)) json += ", ";
}

PythonLiteral::Step PythonLiteral::take_value(char byte, std::string& json) {
  if (is_blank(byte)) return Step::kMore;
  const bool is_key = keys_.ends_with('k');
  if (!open_.empty() && !keys_.ends_with('v') && byte == open_.back()) {
    return take_after(byte, json);  // empty, or a comma before the end
  }
  if (byte == '"' || byte == '\'') {
    put_comma(json);
    quote_ = byte;
    json.push_back('"');
    state_ = State::kText;
    return Step::kMore;
  }
  if (is_key) return Step::kBroken;
  if (byte == '[' || byte == '(' || byte == '{') {
    if (open_.size() >= kDepthMax) return Step::kBroken;
    put_comma(json);
    json.push_back(byte == '{' ? '{' : '[');
    open_.push_back(byte == '{' ? '}' : (byte == '[' ? ']' : ')'));
    keys_.push_back(byte == '{' ? 'k' : 'i');
    return Step::kMore;
  }
  if (!is_word(byte)) return Step::kBroken;
  put_comma(json);
  word_.assign(1, byte);
  state_ = State::kWord;
  return Step::kMore;
}

bool PythonLiteral::end_word(std::string& json) {
  const std::string meaning = json_word(word_);
  json += meaning.empty() ? word_ : meaning;
  return !meaning.empty();
}

PythonLiteral::Step PythonLiteral::end_value() {
  state_ = State::kAfter;
  return open_.empty() ? Step::kEnd : Step::kMore;
}

PythonLiteral::Step PythonLiteral::take_text(char byte, std::string& json) {
  if (byte == '\\') {
    state_ = State::kEscape;
    return Step::kMore;
  }
  if (byte == quote_) {
    json.push_back('"');
    return end_value();
  }
  put_json_byte(byte, json);
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::take_escape(char byte, std::string& json) {
  state_ = State::kText;
  constexpr std::string_view kSame = "bfnrt\"\\";
  if (byte == 'x' || byte == 'u') {
    digits_.clear();
    digits_wanted_ = byte == 'x' ? 2 : 4;
    state_ = State::kDigits;
  } else if (kSame.find(byte) != kSame.npos) {
    json.push_back('\\');
    json.push_back(byte);
  } else if (byte == '\'') {
    json.push_back('\'');
  } else if (byte != '\n') {  // Python joins lines there and keeps what it does not know
    json += "\\\\";
    put_json_byte(byte, json);
  }
  return Step::kMore;
}

PythonLiteral::Step PythonLiteral::take_digits(char byte, std::string& json) {
  if (!is_hex(byte)) return Step::kBroken;
  digits_.push_back(byte);
  if (digits_.size() < digits_wanted_) return Step::kMore;
  json += "\\u";
  if (digits_wanted_ == 2) json += "00";
  json += digits_;
  state_ = State::kText;
  return Step::kMore;
}

/// Inside a container, after one of its values.
PythonLiteral::Step PythonLiteral::take_after(char byte, std::string& json) {
  if (is_blank(byte)) return Step::kMore;
  char& role = keys_.back();
  if (byte == ':' && role == 'k') {
    json += ": ";
    role = 'v';
    state_ = State::kValue;
    return Step::kMore;
  }
  if (byte == ',' && role != 'k') {
    comma_ = true;
    if (role == 'v') role = 'k';
    state_ = State::kValue;
    return Step::kMore;
  }
  if (byte != open_.back()) return Step::kBroken;
  // A key without a value ends nothing; an empty dict and one after a comma do.
  if (role == 'k' && state_ == State::kAfter) return Step::kBroken;
  comma_ = false;
  json.push_back(byte == '}' ? '}' : ']');
  open_.pop_back();
  keys_.pop_back();
  return end_value();
}

}  // namespace kantha::dialect
