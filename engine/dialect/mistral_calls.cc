#include "engine/dialect/mistral_calls.h"

#include <algorithm>
#include <string_view>

namespace kantha::dialect {

Step MistralCalls::take(char byte, CallSink& sink) {
  switch (state_) {
    case State::kBegin:
      if (is_blank(byte)) return Step::kMore;
      state_ = byte == '[' || byte == '{' ? State::kJson : State::kName;
      return take(byte, sink);
    case State::kJson: return json_.take(byte, sink);
    case State::kName: return take_name(byte, sink);
    case State::kArguments:
      sink.arguments(std::string_view(&byte, 1));
      if (!extent_.take(byte)) return Step::kMore;
      sink.complete();
      return Step::kDone;
  }
  return Step::kBroken;
}

Step MistralCalls::take_name(char byte, CallSink& sink) {
  if (byte == '{') return begin_arguments(sink);
  constexpr std::size_t kHeadBytesMax = 512;
  head_.push_back(byte);
  return head_.size() <= kHeadBytesMax ? Step::kMore : Step::kBroken;
}

Step MistralCalls::begin_arguments(CallSink& sink) {
  std::string_view head = head_;
  const std::string_view name = head.substr(0, head.find_first_of("[ \t\r\n"));
  head.remove_prefix(name.size());
  constexpr std::string_view kId = "[CALL_ID]";
  if (head.starts_with(kId)) {
    head.remove_prefix(kId.size());
    head.remove_prefix(std::min(head.find_first_of("[{"), head.size()));
  }
  constexpr std::string_view kArguments = "[ARGS]";
  if (head.starts_with(kArguments)) head.remove_prefix(kArguments.size());
  if (!is_blank(head) || sink.tool(name) == nullptr) return Step::kBroken;
  sink.announce(name);
  sink.arguments("{");
  extent_.take('{');
  state_ = State::kArguments;
  return Step::kMore;
}

bool MistralCalls::end(CallSink& sink) { return state_ == State::kJson ? json_.end(sink) : true; }

}  // namespace kantha::dialect
