#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "bench/load/request_log.h"

/// What an answer of an OpenAI-compatible server says, as far as a measurement needs it. Pure.
namespace kantha::bench {

struct AnswerEvent {
  bool has_content = false;  ///< text or reasoning; not the role alone
  bool is_finish = false;    ///< a choice has its finish_reason
  bool is_end_mark = false;  ///< "[DONE]"
  std::optional<Usage> usage = {};
  std::optional<std::string> error = {};  ///< the message of an error object
};

/// One event of a stream of chat or text completions. kDataLoss when it is no JSON object.
/// A usage that is no pair of counts is as none.
Result<AnswerEvent> read_event(std::string_view payload);

/// The body of a whole answer. kDataLoss when it is no JSON object or has no choices.
Result<AnswerEvent> read_whole(std::string_view body);

/// One line for people: the message of an OpenAI error object, or the beginning of the text.
std::string error_line(std::string_view body);

}  // namespace kantha::bench
