#pragma once

#include <string>

#include "engine/dialect/call_reader.h"
#include "engine/dialect/mark_scan.h"

namespace kantha::dialect {

/// Calls as Qwen3-Coder writes them:
/// `<tool_call><function=name><parameter=key>value</parameter>…</function></tool_call>`.
/// A parameter's text becomes a JSON string where the function's schema says string, and else the
/// JSON that it is; text that is none stays a string. The arguments' text is the object of them.
class XmlCalls final : public CallReader {
 public:
  /// `in_function`: the mark that opened this was `<function=`, without one around it.
  explicit XmlCalls(bool in_function);

  Step take(char byte, CallSink& sink) override;
  bool end(CallSink& sink) override;

 private:
  enum class State { kOpen, kName, kMembers, kKey, kValue, kClose };
  Step take_open(char byte, CallSink& sink);
  Step take_name(char byte, CallSink& sink);
  Step take_members(char byte, CallSink& sink);
  Step take_key(char byte, CallSink& sink);
  Step take_value(char byte, CallSink& sink);
  Step take_close(char byte, CallSink& sink);
  std::string cut_value();
  void put_stray(CallSink& sink);

  State state_;
  bool wrapped_;  ///< there is a `<tool_call>` around the function
  const Tool* tool_ = nullptr;
  MarkScan open_;
  MarkScan members_;
  MarkScan value_end_;
  MarkScan close_;
  std::string word_;
  std::string value_;  ///< of a parameter that is no string
  std::string stray_;
  bool is_text_ = false;
  bool value_began_ = false;
  bool has_arguments_ = false;
};

}  // namespace kantha::dialect
