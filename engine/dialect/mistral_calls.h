#pragma once

#include <optional>
#include <string>

#include "engine/dialect/call_reader.h"
#include "engine/dialect/json_bytes.h"
#include "engine/dialect/json_calls.h"

namespace kantha::dialect {

/// What follows Mistral's `[TOOL_CALLS]`: a JSON list of calls, or in newer models
/// `name[ARGS]{…}`, possibly with `[CALL_ID]…` between the two.
class MistralCalls final : public CallReader {
 public:
  Step take(char byte, CallSink& sink) override;
  bool end(CallSink& sink) override;

 private:
  enum class State { kBegin, kJson, kName, kArguments };
  Step take_name(char byte, CallSink& sink);
  Step begin_arguments(CallSink& sink);

  State state_ = State::kBegin;
  JsonCalls json_{""};
  std::string head_;  ///< from the name to the arguments
  JsonExtent extent_;
};

}  // namespace kantha::dialect
