#include "engine/dialect/json_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kantha::dialect {
namespace {

std::vector<std::string> marks_of(std::string close) {
  if (close.empty()) return {};
  return {std::move(close)};
}

/// Nothing but brackets and white space.
bool is_structure(std::string_view text) {
  return text.find_first_not_of(" \t\r\n}],;") == text.npos;
}

}  // namespace

JsonCalls::JsonCalls(std::string close) : close_(marks_of(std::move(close))) {}

Step JsonCalls::take(char byte, CallSink& sink) {
  switch (state_) {
    case State::kBegin: return take_begin(byte, sink);
    case State::kObject: return take_object(byte, sink);
    case State::kBetween: return take_between(byte, sink);
  }
  return Step::kBroken;
}

Step JsonCalls::take_begin(char byte, CallSink& sink) {
  if (is_blank(byte)) return Step::kMore;
  if (byte == '[' && !is_list_) {
    is_list_ = true;
    return Step::kMore;
  }
  if (byte != '{') return Step::kBroken;
  state_ = State::kObject;
  object_ = {};
  return take_object(byte, sink);
}

Step JsonCalls::take_object(char byte, CallSink& sink) {
  const Step step = object_.take(byte, sink);
  if (step == Step::kMore || step == Step::kBroken) return step;
  state_ = State::kBetween;
  return step == Step::kDone ? Step::kMore : take_between(byte, sink);
}

Step JsonCalls::take_between(char byte, CallSink& sink) {
  if (byte == '{' && is_structure(stray_) && stray_.find(']') == stray_.npos) {
    stray_.clear();
    sink.begin({});
    state_ = State::kObject;
    object_ = {};
    return take_object(byte, sink);
  }
  if (close_.empty()) {
    if (is_list_ && byte == ']') return Step::kDone;
    return is_blank(byte) || byte == ',' || byte == ';' ? Step::kMore : Step::kPast;
  }
  if (close_.take(byte, stray_)) {
    put_stray(sink);
    return Step::kDone;
  }
  if (stray_.size() <= kHeldBytesMax) return Step::kMore;
  stray_ += close_.release();
  put_stray(sink);
  return Step::kDone;
}

void JsonCalls::put_stray(CallSink& sink) {
  if (!is_structure(stray_)) sink.text(stray_);
  stray_.clear();
}

bool JsonCalls::end(CallSink& sink) {
  if (state_ != State::kBetween) return true;
  put_stray(sink);
  return false;
}

}  // namespace kantha::dialect
