#pragma once

#include "engine/api/answer_writer.h"

/// llama-server's answer to /infill: {"content", "stop", …}, in a stream as data events of which
/// the last one has "stop": true. Pure.
namespace kantha::api {

extern const AnswerApi kInfillAnswers;

}  // namespace kantha::api
