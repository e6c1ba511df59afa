#pragma once

#include <string>

#include "engine/dialect/call_reader.h"
#include "engine/dialect/json_bytes.h"
#include "engine/dialect/mark_scan.h"

namespace kantha::dialect {

/// DeepSeek's calls, between its own marks: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}` (V3.1), or
/// `function<｜tool▁sep｜>name` and the arguments in a fenced JSON block (V3, R1), each ended by
/// `<｜tool▁call▁end｜>`, all of them by `<｜tool▁calls▁end｜>`.
class DeepseekCalls final : public CallReader {
 public:
  /// `in_call`: the mark that opened this was a call's and not that of all calls.
  explicit DeepseekCalls(bool in_call);

  Step take(char byte, CallSink& sink) override;
  bool end(CallSink& sink) override;

  static const char* const kCallsBegin;
  static const char* const kCallsEnd;
  static const char* const kCallBegin;
  static const char* const kCallEnd;
  static const char* const kSeparator;

 private:
  enum class State { kOuter, kHead, kLead, kArguments, kTail };
  Step take_outer(char byte, CallSink& sink);
  Step take_head(char byte);
  Step take_lead(char byte, CallSink& sink);
  Step take_tail(char byte, CallSink& sink);

  State state_;
  MarkScan outer_;
  MarkScan separator_;
  MarkScan tail_;
  std::string head_;  ///< before the separator: "function", or the name
  std::string lead_;  ///< between the separator and the arguments
  std::string stray_;
  JsonExtent extent_;
  bool has_called_ = false;
};

}  // namespace kantha::dialect
