#pragma once

#include "engine/api/answer_writer.h"

/// OpenAI's response object and its stream: response.created, …in_progress, output_item.added,
/// content_part.added, output_text.delta …, each with the next sequence_number, and
/// response.completed, …incomplete or …failed as the last one. Pure.
namespace kantha::api {

extern const AnswerApi kResponsesAnswers;

}  // namespace kantha::api
