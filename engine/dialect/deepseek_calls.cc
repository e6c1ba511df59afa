#include "engine/dialect/deepseek_calls.h"

#include <string_view>

namespace kantha::dialect {
namespace {

constexpr std::size_t kHeadBytesMax = 512;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// "name" of "name\n```json\n".
std::string_view first_line(std::string_view text) {
  text = trimmed(text);
  return trimmed(text.substr(0, text.find_first_of("\n`")));
}

bool is_structure(std::string_view text) { return text.find_first_not_of(" \t\r\n`") == text.npos; }

}  // namespace

const char* const DeepseekCalls::kCallsBegin = "<｜tool▁calls▁begin｜>";
const char* const DeepseekCalls::kCallsEnd = "<｜tool▁calls▁end｜>";
const char* const DeepseekCalls::kCallBegin = "<｜tool▁call▁begin｜>";
const char* const DeepseekCalls::kCallEnd = "<｜tool▁call▁end｜>";
const char* const DeepseekCalls::kSeparator = "<｜tool▁sep｜>";

DeepseekCalls::DeepseekCalls(bool in_call)
    : state_(in_call ? State::kHead : State::kOuter),
      outer_({kCallBegin, kCallsEnd}),
      separator_({kSeparator}),
      tail_({kCallEnd, kCallsEnd}) {}

Step DeepseekCalls::take(char byte, CallSink& sink) {
  switch (state_) {
    case State::kOuter: return take_outer(byte, sink);
    case State::kHead: return take_head(byte);
    case State::kLead: return take_lead(byte, sink);
    case State::kArguments:
      sink.arguments(std::string_view(&byte, 1));
      if (!extent_.take(byte)) return Step::kMore;
      sink.complete();
      state_ = State::kTail;
      return Step::kMore;
    case State::kTail: return take_tail(byte, sink);
  }
  return Step::kBroken;
}

/// Between calls.
Step DeepseekCalls::take_outer(char byte, CallSink& sink) {
  const auto mark = outer_.take(byte, stray_);
  if (!mark) return is_structure(stray_) ? Step::kMore : Step::kBroken;
  stray_.clear();
  if (*mark == 1) return has_called_ ? Step::kDone : Step::kBroken;
  const std::string_view opening = kCallBegin;
  sink.begin(opening.substr(0, opening.size() - 1));
  head_.clear();
  state_ = State::kHead;
  return Step::kMore;
}

Step DeepseekCalls::take_head(char byte) {
  if (separator_.take(byte, head_)) {
    lead_.clear();
    state_ = State::kLead;
  }
  return head_.size() <= kHeadBytesMax ? Step::kMore : Step::kBroken;
}

Step DeepseekCalls::take_lead(char byte, CallSink& sink) {
  if (byte != '{') {
    lead_.push_back(byte);
    return lead_.size() <= kHeadBytesMax ? Step::kMore : Step::kBroken;
  }
  const bool fenced = !is_blank(lead_);
  const std::string name(fenced ? first_line(lead_) : trimmed(head_));
  if (sink.tool(name) == nullptr) return Step::kBroken;
  has_called_ = true;
  sink.announce(name);
  sink.arguments("{");
  extent_ = {};
  extent_.take('{');
  state_ = State::kArguments;
  return Step::kMore;
}

Step DeepseekCalls::take_tail(char byte, CallSink& sink) {
  const auto mark = tail_.take(byte, stray_);
  if (!mark && stray_.size() <= kHeldBytesMax) return Step::kMore;
  if (!is_structure(stray_)) sink.text(stray_);
  stray_.clear();
  if (!mark || *mark == 1) return Step::kDone;
  state_ = State::kOuter;
  return Step::kMore;
}

bool DeepseekCalls::end(CallSink& sink) {
  if (state_ == State::kOuter) return !has_called_;
  if (state_ != State::kTail) return true;
  if (!is_structure(stray_)) sink.text(stray_);
  return false;
}

}  // namespace kantha::dialect
