#pragma once

#include <string>

#include "engine/dialect/call_reader.h"
#include "engine/dialect/mark_scan.h"
#include "engine/dialect/python_literal.h"

namespace kantha::dialect {

/// Calls as a list of Python calls, `[f(a=1, b='x'), g()]`, with keyword arguments that are
/// literals; then the closing mark, if there is one. The arguments' text is the JSON of them.
class PythonCalls final : public CallReader {
 public:
  explicit PythonCalls(std::string close);

  Step take(char byte, CallSink& sink) override;
  bool end(CallSink& sink) override;

 private:
  enum class State { kOpen, kCall, kName, kKeyOrEnd, kKey, kValue, kCommaOrEnd, kBetween, kClose };
  Step take_name(char byte, CallSink& sink);
  Step take_key(char byte, CallSink& sink);
  Step take_value(char byte, CallSink& sink);
  Step take_comma_or_end(char byte, CallSink& sink);
  Step take_between(char byte);
  Step take_close(char byte, CallSink& sink);
  Step end_call(CallSink& sink);

  State state_ = State::kOpen;
  std::string word_;
  PythonLiteral value_;
  MarkScan close_;
  std::string stray_;
  bool has_arguments_ = false;
};

}  // namespace kantha::dialect
