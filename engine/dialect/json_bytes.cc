#include "engine/dialect/json_bytes.h"

#include <algorithm>
#include <utility>

namespace kantha::dialect {
namespace {

constexpr unsigned kReplacement = 0xFFFD;

/// -1 for what is no hexadecimal digit.
int digit_of(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

void put_utf8(unsigned point, std::string& text) {
  const auto put = [&text](unsigned byte) { text.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0 | (point >> 6));
  } else {
    if (point < 0x10000) {
      put(0xE0 | (point >> 12));
    } else {
      put(0xF0 | (point >> 18));
      put(0x80 | ((point >> 12) & 0x3F));
    }
    put(0x80 | ((point >> 6) & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

}  // namespace

bool is_blank(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }
bool is_blank(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return is_blank(byte); });
}

bool JsonExtent::take(char byte) {
  if (in_text_) {
    if (std::exchange(escaped_, false)) return false;
    escaped_ = byte == '\\';
    in_text_ = byte != '"';
    return false;
  }
  in_text_ = byte == '"';
  if (byte == '{' || byte == '[') ++depth_;
  return (byte == '}' || byte == ']') && --depth_ == 0;
}

void JsonTextReader::put_lone(std::string& text) {
  if (std::exchange(high_, 0) != 0) put_utf8(kReplacement, text);
}

void JsonTextReader::put_point(unsigned point, std::string& text) {
  const bool low = point >= 0xDC00 && point < 0xE000;
  if (low && high_ != 0) {
    put_utf8(0x10000 + ((std::exchange(high_, 0) - 0xD800) << 10) + (point - 0xDC00), text);
    return;
  }
  put_lone(text);
  if (point >= 0xD800 && point < 0xDC00) {
    high_ = point;
  } else {
    put_utf8(low ? kReplacement : point, text);
  }
}

JsonTextReader::Step JsonTextReader::take_digit(char byte, std::string& text) {
  const int digit = digit_of(byte);
  if (digit < 0) return Step::kBroken;
  point_ = point_ * 16 + static_cast<unsigned>(digit);
  if (++digits_ < 4) return Step::kMore;
  state_ = State::kPlain;
  put_point(point_, text);
  return Step::kMore;
}

JsonTextReader::Step JsonTextReader::take_escape(char byte, std::string& text) {
  if (byte == 'u') {
    state_ = State::kDigits;
    point_ = 0;
    digits_ = 0;
    return Step::kMore;
  }
  constexpr std::string_view kLetters = "bfnrt\"\\/";
  constexpr std::string_view kMeanings = "\b\f\n\r\t\"\\/";
  const std::size_t place = kLetters.find(byte);
  if (place == kLetters.npos) return Step::kBroken;
  state_ = State::kPlain;
  put_lone(text);
  text.push_back(kMeanings[place]);
  return Step::kMore;
}

JsonTextReader::Step JsonTextReader::take(char byte, std::string& text) {
  if (state_ == State::kDigits) return take_digit(byte, text);
  if (state_ == State::kEscape) return take_escape(byte, text);
  if (byte == '\\') {
    state_ = State::kEscape;
    return Step::kMore;
  }
  put_lone(text);
  if (byte == '"') return Step::kEnd;
  text.push_back(byte);
  return Step::kMore;
}

void put_json_byte(char byte, std::string& json) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  if (byte == '"' || byte == '\\') {
    json.push_back('\\');
    json.push_back(byte);
  } else if (byte == '\n') {
    json += "\\n";
  } else if (byte == '\t') {
    json += "\\t";
  } else if (byte == '\r') {
    json += "\\r";
  } else if (value < 0x20) {
    json += "\\u00";
    json.push_back(kDigits[value >> 4]);
    json.push_back(kDigits[value & 15]);
  } else {
    json.push_back(byte);
  }
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char byte : text) put_json_byte(byte, json);
  json.push_back('"');
  return json;
}

}  // namespace kantha::dialect
