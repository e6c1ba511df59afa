#pragma once

#include "engine/api/answer_writer.h"

/// Anthropic's message object and its stream: message_start, content_block_start, …_delta, …_stop,
/// message_delta, message_stop. Pure.
namespace kantha::api {

extern const AnswerApi kMessagesAnswers;

/// {"input_tokens": n}
OrderedJson count_tokens_json(std::int64_t tokens);

}  // namespace kantha::api
