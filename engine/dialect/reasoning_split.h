#pragma once

#include <string>

#include "engine/dialect/mark_scan.h"
#include "engine/dialect/syntax.h"

namespace kantha::dialect {

/// Parts an answer's beginning, the reasoning, from the rest, byte by byte. White space around the
/// marks belongs to neither. One answer; one thread.
class ReasoningSplit {
 public:
  /// `inside`: the prompt opened the reasoning. A model that opens it once more is forgiven.
  ReasoningSplit(const ReasoningSyntax& syntax, bool inside);

  void take(char byte, std::string& reasoning, std::string& rest);
  /// What was kept back.
  void end(std::string& reasoning, std::string& rest);
  /// Something else than reasoning and white space has come.
  bool is_past() const { return state_ == State::kRest; }
  /// The next byte would be reasoning, as far as one knows.
  bool is_inside() const { return state_ == State::kReasoning || (inside_ && is_open()); }

 private:
  enum class State { kStart, kReasoning, kGap, kRest };
  bool is_open() const { return state_ == State::kStart; }
  void take_start(char byte, std::string& reasoning, std::string& rest);
  void leave_start(std::string& reasoning, std::string& rest);
  void take_reasoning(char byte, std::string& reasoning);
  void put_reasoning(char byte, std::string& reasoning);

  State state_ = State::kStart;
  const bool inside_;
  const std::string open_;
  MarkScan close_;
  std::string start_;   ///< white space and the beginning of the opening mark
  std::string blanks_;  ///< of the reasoning; dropped before its end
  bool began_ = false;  ///< the reasoning has text
};

}  // namespace kantha::dialect
