#pragma once

#include <cstdint>
#include <string>

#include "engine/api/answer_writer.h"

/// Ollama's answers: streams of one JSON object a line, the last of which is `done` and has the
/// counters, durations in nanoseconds. Pure.
namespace kantha::api {

extern const AnswerApi kOllamaChatAnswers;      ///< `message`
extern const AnswerApi kOllamaGenerateAnswers;  ///< `response`

/// What is known of a model.
struct OllamaModel {
  std::string name;
  std::int64_t created = 0;  ///< Unix seconds
  std::string digest;        ///< hexadecimal
  std::int32_t context_max = 0;
  std::string chat_template;  ///< empty: it takes no conversations
  bool fills_gaps = false;    ///< has infill tokens
  bool calls_tools = false;   ///< calls of functions are read
  bool reasons = false;       ///< reasoning is told apart
};

/// GET /api/tags
OrderedJson ollama_tags_json(const OllamaModel& model);
/// POST /api/show
OrderedJson ollama_show_json(const OllamaModel& model);

/// "2026-01-31T12:00:00Z"
std::string utc_text(std::int64_t unix_seconds);

}  // namespace kantha::api
