#pragma once

#include <string>

#include "engine/dialect/call_object.h"
#include "engine/dialect/call_reader.h"
#include "engine/dialect/mark_scan.h"

namespace kantha::dialect {

/// Calls as JSON objects: one, several after each other, or a list; then the closing mark, if the
/// model has one. Closing brackets that are one too many before that mark are passed over.
class JsonCalls final : public CallReader {
 public:
  /// Empty: the calls end with the list, or where no further object begins.
  explicit JsonCalls(std::string close);

  Step take(char byte, CallSink& sink) override;
  bool end(CallSink& sink) override;

 private:
  enum class State { kBegin, kObject, kBetween };
  Step take_begin(char byte, CallSink& sink);
  Step take_object(char byte, CallSink& sink);
  Step take_between(char byte, CallSink& sink);
  void put_stray(CallSink& sink);

  State state_ = State::kBegin;
  CallObject object_;
  MarkScan close_;
  std::string stray_;  ///< between the last call and the closing mark
  bool is_list_ = false;
};

}  // namespace kantha::dialect
