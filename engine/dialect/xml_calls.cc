#include "engine/dialect/xml_calls.h"

#include <string_view>
#include <utility>

#include "engine/dialect/json_bytes.h"

namespace kantha::dialect {
namespace {

constexpr std::size_t kNameBytesMax = 256;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Does the schema let the parameter be a string and nothing else?
bool is_text_parameter(const Tool& tool, const std::string& key) {
  const auto properties =
      tool.parameters.is_object() ? tool.parameters.find("properties") : tool.parameters.end();
  if (properties == tool.parameters.end() || !properties->is_object()) return false;
  const auto property = properties->find(key);
  if (property == properties->end() || !property->is_object()) return false;
  const auto type = property->find("type");
  return type != property->end() && *type == "string";
}

/// The JSON that a parameter's text means.
std::string json_of(std::string_view text) {
  const std::string word(trimmed(text));
  if (word == "True") return "true";
  if (word == "False") return "false";
  if (word == "None") return "null";
  return parse_json(word).ok() ? word : json_string(text);
}

}  // namespace

XmlCalls::XmlCalls(bool in_function)
    : state_(in_function ? State::kName : State::kOpen),
      wrapped_(!in_function),
      open_({"<function="}),
      members_({"<parameter=", "</function>"}),
      value_end_({"\n</parameter>", "</parameter>"}),
      close_({"</tool_call>"}) {}

Step XmlCalls::take(char byte, CallSink& sink) {
  switch (state_) {
    case State::kOpen: return take_open(byte, sink);
    case State::kName: return take_name(byte, sink);
    case State::kMembers: return take_members(byte, sink);
    case State::kKey: return take_key(byte, sink);
    case State::kValue: return take_value(byte, sink);
    case State::kClose: return take_close(byte, sink);
  }
  return Step::kBroken;
}

Step XmlCalls::take_open(char byte, CallSink& /*sink*/) {
  if (open_.take(byte, stray_)) {
    stray_.clear();
    state_ = State::kName;
    return Step::kMore;
  }
  return is_blank(stray_) ? Step::kMore : Step::kBroken;
}

Step XmlCalls::take_name(char byte, CallSink& sink) {
  if (byte != '>') {
    word_.push_back(byte);
    return word_.size() <= kNameBytesMax ? Step::kMore : Step::kBroken;
  }
  const std::string name(trimmed(word_));
  tool_ = sink.tool(name);
  if (tool_ == nullptr) return Step::kBroken;
  sink.announce(name);
  sink.arguments("{");
  state_ = State::kMembers;
  return Step::kMore;
}

/// Between the parameters.
Step XmlCalls::take_members(char byte, CallSink& sink) {
  const auto mark = members_.take(byte, stray_);
  if (!mark) return stray_.size() <= kHeldBytesMax ? Step::kMore : Step::kBroken;
  put_stray(sink);
  if (*mark == 0) {
    word_.clear();
    state_ = State::kKey;
    return Step::kMore;
  }
  sink.arguments("}");
  sink.complete();
  if (!wrapped_) return Step::kDone;
  state_ = State::kClose;
  return Step::kMore;
}

Step XmlCalls::take_key(char byte, CallSink& sink) {
  if (byte != '>') {
    word_.push_back(byte);
    return word_.size() <= kNameBytesMax ? Step::kMore : Step::kBroken;
  }
  const std::string key(trimmed(word_));
  is_text_ = is_text_parameter(*tool_, key);
  if (std::exchange(has_arguments_, true)) sink.arguments(", ");
  sink.arguments(json_string(key) + (is_text_ ? ": \"" : ": "));
  value_.clear();
  value_began_ = false;
  state_ = State::kValue;
  return Step::kMore;
}

/// A line break after the opening tag and one before the closing tag are not the value's.
Step XmlCalls::take_value(char byte, CallSink& sink) {
  std::string plain;
  const bool ended = value_end_.take(byte, plain).has_value();
  std::string json;
  for (const char part : plain) {
    if (!std::exchange(value_began_, true) && part == '\n') continue;
    if (is_text_) {
      put_json_byte(part, json);
    } else {
      value_.push_back(part);
    }
  }
  if (!json.empty()) sink.arguments(json);
  if (!ended) return value_.size() <= (kHeldBytesMax << 4) ? Step::kMore : Step::kBroken;
  sink.arguments(is_text_ ? "\"" : json_of(value_));
  state_ = State::kMembers;
  return Step::kMore;
}

Step XmlCalls::take_close(char byte, CallSink& sink) {
  const bool closed = close_.take(byte, stray_).has_value();
  if (!closed && stray_.size() <= kHeldBytesMax) return Step::kMore;
  put_stray(sink);
  return Step::kDone;
}

void XmlCalls::put_stray(CallSink& sink) {
  if (!is_blank(stray_)) sink.text(stray_);
  stray_.clear();
}

/// What there is of a value that the output's end cut.
std::string XmlCalls::cut_value() {
  const std::string held = value_end_.release();
  if (!is_text_) return json_of(value_ + held);
  std::string json;
  for (const char part : held) put_json_byte(part, json);
  return json;
}

bool XmlCalls::end(CallSink& sink) {
  if (state_ == State::kOpen || state_ == State::kName) return true;
  if (state_ == State::kValue) sink.arguments(cut_value());
  put_stray(sink);
  return false;
}

}  // namespace kantha::dialect
