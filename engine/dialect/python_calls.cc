#include "engine/dialect/python_calls.h"

#include <utility>
#include <vector>

#include "engine/dialect/json_bytes.h"

namespace kantha::dialect {
namespace {

constexpr std::size_t kNameBytesMax = 256;

bool is_name(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '.' || byte == '-';
}

std::vector<std::string> marks_of(std::string close) {
  if (close.empty()) return {};
  return {std::move(close)};
}

}  // namespace

PythonCalls::PythonCalls(std::string close) : close_(marks_of(std::move(close))) {}

Step PythonCalls::take(char byte, CallSink& sink) {
  switch (state_) {
    case State::kOpen:
      if (is_blank(byte)) return Step::kMore;
      if (byte != '[') return Step::kBroken;
      state_ = State::kCall;
      return Step::kMore;
    case State::kCall:
      if (is_blank(byte)) return Step::kMore;
      word_.clear();
      state_ = State::kName;
      sink.begin({});
      return take_name(byte, sink);
    case State::kName: return take_name(byte, sink);
    case State::kKeyOrEnd:
      if (is_blank(byte)) return Step::kMore;
      if (byte == ')') return end_call(sink);
      word_.clear();
      state_ = State::kKey;
      return take_key(byte, sink);
    case State::kKey: return take_key(byte, sink);
    case State::kValue: return take_value(byte, sink);
    case State::kCommaOrEnd: return take_comma_or_end(byte, sink);
    case State::kBetween: return take_between(byte);
    case State::kClose: return take_close(byte, sink);
  }
  return Step::kBroken;
}

Step PythonCalls::take_name(char byte, CallSink& sink) {
  if (is_name(byte)) {
    word_.push_back(byte);
    return word_.size() <= kNameBytesMax ? Step::kMore : Step::kBroken;
  }
  if (byte != '(' || sink.tool(word_) == nullptr) return Step::kBroken;
  sink.announce(word_);
  sink.arguments("{");
  has_arguments_ = false;
  state_ = State::kKeyOrEnd;
  return Step::kMore;
}

Step PythonCalls::take_key(char byte, CallSink& sink) {
  if (is_name(byte)) {
    word_.push_back(byte);
    return word_.size() <= kNameBytesMax ? Step::kMore : Step::kBroken;
  }
  if (is_blank(byte)) return Step::kMore;
  if (byte != '=' || word_.empty()) return Step::kBroken;
  if (std::exchange(has_arguments_, true)) sink.arguments(", ");
  sink.arguments(json_string(word_) + ": ");
  value_ = {};
  state_ = State::kValue;
  return Step::kMore;
}

Step PythonCalls::take_value(char byte, CallSink& sink) {
  std::string json;
  const PythonLiteral::Step step = value_.take(byte, json);
  if (!json.empty()) sink.arguments(json);
  switch (step) {
    case PythonLiteral::Step::kMore: return Step::kMore;
    case PythonLiteral::Step::kBroken: return Step::kBroken;
    case PythonLiteral::Step::kEnd: state_ = State::kCommaOrEnd; return Step::kMore;
    case PythonLiteral::Step::kPast: break;
  }
  state_ = State::kCommaOrEnd;
  return take_comma_or_end(byte, sink);
}

Step PythonCalls::take_comma_or_end(char byte, CallSink& sink) {
  if (is_blank(byte)) return Step::kMore;
  if (byte == ')') return end_call(sink);
  if (byte != ',') return Step::kBroken;
  state_ = State::kKeyOrEnd;
  return Step::kMore;
}

Step PythonCalls::end_call(CallSink& sink) {
  sink.arguments("}");
  sink.complete();
  state_ = State::kBetween;
  return Step::kMore;
}

Step PythonCalls::take_between(char byte) {
  if (is_blank(byte)) return Step::kMore;
  if (byte == ',' || byte == ';') {
    state_ = State::kCall;
    return Step::kMore;
  }
  if (byte != ']') return Step::kPast;
  if (close_.empty()) return Step::kDone;
  state_ = State::kClose;
  return Step::kMore;
}

Step PythonCalls::take_close(char byte, CallSink& sink) {
  const bool closed = close_.take(byte, stray_).has_value();
  if (!closed && stray_.size() <= kHeldBytesMax) return Step::kMore;
  if (!is_blank(stray_)) sink.text(stray_);
  return Step::kDone;
}

bool PythonCalls::end(CallSink& sink) {
  if (!is_blank(stray_)) sink.text(stray_);
  return state_ != State::kBetween && state_ != State::kClose;
}

}  // namespace kantha::dialect
