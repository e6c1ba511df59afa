#pragma once

#include <string>

#include "engine/dialect/call_reader.h"
#include "engine/dialect/json_bytes.h"

namespace kantha::dialect {

/// Reads one `{"name": …, "arguments": {…}}`. `parameters` is the same as `arguments`; arguments
/// may be an object or a string that holds one; absent or null they are `{}`; they may stand before
/// the name. `{"function": {…}}` around it and other members are passed over. The first byte is the
/// opening brace.
class CallObject {
 public:
  /// kDone with the closing brace; kPast when the object breaks off after complete arguments.
  Step take(char byte, CallSink& sink);

 private:
  enum class State {
    kOpen,
    kKeyOrEnd,
    kKey,
    kColon,
    kValue,
    kName,
    kArguments,
    kArgumentsText,
    kSkipText,
    kSkipTree,
    kSkipWord,
    kCommaOrEnd,
  };
  Step take_key_or_end(char byte, CallSink& sink);
  Step take_value(char byte, CallSink& sink);
  Step begin_arguments(char byte, CallSink& sink);
  Step take_name(char byte, CallSink& sink);
  Step take_arguments(char byte, CallSink& sink);
  Step take_comma_or_end(char byte, CallSink& sink);
  Step close(CallSink& sink);
  Step text_step(char byte, std::string& text, State next);
  void put_arguments(std::string_view text, CallSink& sink);
  void end_arguments(CallSink& sink);
  Step after_broken() const { return completed_ ? Step::kPast : Step::kBroken; }

  State state_ = State::kOpen;
  std::size_t nested_ = 0;  ///< objects around the call's members
  std::string key_;
  std::string name_;
  std::string early_;  ///< arguments that came before the name
  JsonTextReader text_;
  JsonExtent extent_;
  bool named_ = false;
  bool argued_ = false;  ///< all arguments were read
  bool announced_ = false;
  bool completed_ = false;
};

}  // namespace kantha::dialect
