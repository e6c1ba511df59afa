#include "engine/dialect/reasoning_split.h"

#include <string_view>
#include <utility>

#include "engine/dialect/json_bytes.h"

namespace kantha::dialect {

ReasoningSplit::ReasoningSplit(const ReasoningSyntax& syntax, bool inside)
    : state_(syntax.empty() ? State::kRest : State::kStart),
      inside_(inside || syntax.always),
      open_(syntax.open),
      close_({syntax.close}) {}

void ReasoningSplit::take(char byte, std::string& reasoning, std::string& rest) {
  switch (state_) {
    case State::kStart: return take_start(byte, reasoning, rest);
    case State::kReasoning: return take_reasoning(byte, reasoning);
    case State::kGap:
      if (is_blank(byte)) return;
      state_ = State::kRest;
      rest.push_back(byte);
      return;
    case State::kRest: rest.push_back(byte); return;
  }
}

void ReasoningSplit::take_start(char byte, std::string& reasoning, std::string& rest) {
  start_.push_back(byte);
  std::string_view mark = start_;
  while (!mark.empty() && is_blank(mark.front())) mark.remove_prefix(1);
  if (!std::string_view(open_).starts_with(mark)) return leave_start(reasoning, rest);
  if (mark.size() < open_.size()) return;
  start_.clear();
  state_ = State::kReasoning;
}

/// There is no opening mark.
void ReasoningSplit::leave_start(std::string& reasoning, std::string& rest) {
  state_ = inside_ ? State::kReasoning : State::kRest;
  for (const char byte : std::exchange(start_, {})) take(byte, reasoning, rest);
}

void ReasoningSplit::take_reasoning(char byte, std::string& reasoning) {
  std::string plain;
  const bool closed = close_.take(byte, plain).has_value();
  for (const char part : plain) put_reasoning(part, reasoning);
  if (closed) state_ = State::kGap;
}

void ReasoningSplit::put_reasoning(char byte, std::string& reasoning) {
  if (is_blank(byte)) {
    if (began_) blanks_.push_back(byte);
    return;
  }
  began_ = true;
  reasoning += std::exchange(blanks_, {});
  reasoning.push_back(byte);
}

void ReasoningSplit::end(std::string& reasoning, std::string& rest) {
  if (state_ == State::kStart) leave_start(reasoning, rest);
  if (state_ != State::kReasoning) return;
  for (const char part : close_.release()) put_reasoning(part, reasoning);
}

}  // namespace kantha::dialect
