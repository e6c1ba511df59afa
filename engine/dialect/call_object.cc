#include "engine/dialect/call_object.h"

#include <string_view>

namespace kantha::dialect {
namespace {

constexpr std::size_t kWordBytesMax = 1024;

bool is_arguments_key(std::string_view key) { return key == "arguments" || key == "parameters"; }

}  // namespace

Step CallObject::take(char byte, CallSink& sink) {
  switch (state_) {
    case State::kOpen: state_ = State::kKeyOrEnd; return Step::kMore;
    case State::kKeyOrEnd: return take_key_or_end(byte, sink);
    case State::kKey: return text_step(byte, key_, State::kColon);
    case State::kColon:
      if (is_blank(byte)) return Step::kMore;
      if (byte != ':') return after_broken();
      state_ = State::kValue;
      return Step::kMore;
    case State::kValue: return take_value(byte, sink);
    case State::kName: return take_name(byte, sink);
    case State::kArguments:
    case State::kArgumentsText: return take_arguments(byte, sink);
    case State::kSkipText: {
      std::string skipped;
      return text_step(byte, skipped, State::kCommaOrEnd);
    }
    case State::kSkipTree:
      if (extent_.take(byte)) state_ = State::kCommaOrEnd;
      return Step::kMore;
    case State::kSkipWord:
      if (byte != ',' && byte != '}' && !is_blank(byte)) {
        return byte == '{' || byte == '"' || byte == '<' ? after_broken() : Step::kMore;
      }
      state_ = State::kCommaOrEnd;
      return take_comma_or_end(byte, sink);
    case State::kCommaOrEnd: return take_comma_or_end(byte, sink);
  }
  return Step::kBroken;
}

/// One byte of a string that ends in state `next`.
Step CallObject::text_step(char byte, std::string& text, State next) {
  switch (text_.take(byte, text)) {
    case JsonTextReader::Step::kBroken: return after_broken();
    case JsonTextReader::Step::kEnd: state_ = next; return Step::kMore;
    case JsonTextReader::Step::kMore: break;
  }
  return text.size() <= kWordBytesMax ? Step::kMore : after_broken();
}

Step CallObject::take_key_or_end(char byte, CallSink& sink) {
  if (is_blank(byte)) return Step::kMore;
  if (byte == '}') return close(sink);
  if (byte != '"') return after_broken();
  key_.clear();
  text_ = {};
  state_ = State::kKey;
  return Step::kMore;
}

Step CallObject::take_value(char byte, CallSink& sink) {
  if (is_blank(byte)) return Step::kMore;
  text_ = {};
  extent_ = {};
  const bool names = key_ == "name" || key_ == "function";
  if (names && byte == '"' && !named_) {
    state_ = State::kName;
    return Step::kMore;
  }
  if (key_ == "function" && byte == '{' && nested_ == 0) {
    ++nested_;
    state_ = State::kKeyOrEnd;
    return Step::kMore;
  }
  if (is_arguments_key(key_) && !argued_ && byte != 'n') return begin_arguments(byte, sink);
  if (byte == '"') {
    state_ = State::kSkipText;
  } else if (byte == '{' || byte == '[') {
    extent_.take(byte);
    state_ = State::kSkipTree;
  } else {
    state_ = State::kSkipWord;
  }
  return Step::kMore;
}

Step CallObject::begin_arguments(char byte, CallSink& sink) {
  if (byte != '{' && byte != '"') return Step::kBroken;
  if (named_) {
    sink.announce(name_);
    announced_ = true;
  }
  if (byte == '"') {
    state_ = State::kArgumentsText;
    return Step::kMore;
  }
  state_ = State::kArguments;
  extent_.take(byte);
  put_arguments("{", sink);
  return Step::kMore;
}

Step CallObject::take_name(char byte, CallSink& sink) {
  const Step step = text_step(byte, name_, State::kCommaOrEnd);
  if (step != Step::kMore || state_ != State::kCommaOrEnd) return step;
  if (sink.tool(name_) == nullptr) return Step::kBroken;
  named_ = true;
  if (!argued_) return Step::kMore;
  sink.announce(name_);
  announced_ = true;
  put_arguments(early_, sink);
  end_arguments(sink);
  return Step::kMore;
}

void CallObject::put_arguments(std::string_view text, CallSink& sink) {
  if (announced_) {
    sink.arguments(text);
  } else {
    early_ += text;
  }
}

void CallObject::end_arguments(CallSink& sink) {
  argued_ = true;
  if (!announced_) return;
  sink.complete();
  completed_ = true;
}

Step CallObject::take_arguments(char byte, CallSink& sink) {
  if (state_ == State::kArguments) {
    put_arguments(std::string_view(&byte, 1), sink);
    if (!extent_.take(byte)) return Step::kMore;
  } else {
    std::string text;
    const JsonTextReader::Step step = text_.take(byte, text);
    put_arguments(text, sink);
    if (step == JsonTextReader::Step::kBroken) return Step::kBroken;
    if (step == JsonTextReader::Step::kMore) return Step::kMore;
  }
  end_arguments(sink);
  state_ = State::kCommaOrEnd;
  return Step::kMore;
}

Step CallObject::take_comma_or_end(char byte, CallSink& sink) {
  if (is_blank(byte)) return Step::kMore;
  if (byte == '}') return close(sink);
  if (byte != ',') return after_broken();
  state_ = State::kKeyOrEnd;
  return Step::kMore;
}

/// A closing brace: of the inner object, or of the call, which must have a name by now.
Step CallObject::close(CallSink& sink) {
  if (nested_ > 0) {
    --nested_;
    state_ = State::kCommaOrEnd;
    return Step::kMore;
  }
  if (!named_) return Step::kBroken;
  if (!announced_) {
    sink.announce(name_);
    announced_ = true;
    put_arguments("{}", sink);
    end_arguments(sink);
  }
  return Step::kDone;
}

}  // namespace kantha::dialect
