#pragma once

#include "engine/api/answer_writer.h"

/// OpenAI's list of embeddings: vectors of length 1, as numbers or as base64 of little-endian f32.
/// Pure.
namespace kantha::api {

extern const AnswerApi kEmbeddingAnswers;

}  // namespace kantha::api
