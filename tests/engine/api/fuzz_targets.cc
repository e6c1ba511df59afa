#include "tests/engine/api/fuzz_targets.h"

#include <span>
#include <string>
#include <type_traits>

#include "base/check.h"
#include "engine/api/completion_request.h"
#include "engine/api/embedding_request.h"
#include "engine/api/infill_answer.h"
#include "engine/api/infill_request.h"
#include "engine/api/messages_answer.h"
#include "engine/api/messages_request.h"
#include "engine/api/ollama_answer.h"
#include "engine/api/ollama_request.h"
#include "engine/api/openai_error.h"
#include "engine/api/output_format.h"
#include "engine/api/responses_answer.h"
#include "engine/api/responses_request.h"
#include "engine/api/token_request.h"
#include "tests/engine/api/whole_bodies.h"

namespace kantha::api {
namespace {

constexpr RequestLimits kLimits{.vocabulary_size = 100, .context_max = 512};

void check_refusal(Error error, std::span<const FieldName> names) {
  error = in_own_words(std::move(error), names);
  const int status = http_status(error);
  CHECK(status >= 400 && status < 500, "the client's error");
  CHECK(error.message.starts_with(error.field), "the message begins with its field");
  CHECK(!to_http_error(error).body.empty(), "an error that can be told");
}

/// What happens to a body before the model's part begins.
template <class Reader>
void read(Reader reader, const Json& json, const std::string& text,
          std::span<const FieldName> names = {}) {
  auto request = reader(json, kLimits);
  if (!request.ok()) return check_refusal(std::move(request).error(), names);
  using Request = std::remove_cvref_t<decltype(*request)>;
  if constexpr (requires(Request r) { r.fields.output; }) {
    in_key_order(request->fields.output, text);
  }
  if constexpr (std::is_base_of_v<ChatRequest, Request>) {
    keep_order(text, request->tools);
    CHECK(!request->messages.empty(), "a conversation");
  }
}

}  // namespace

void fuzz_body(std::string_view bytes) {
  const std::string text(bytes);
  const auto json = parse_json(text);
  if (!json.ok()) return;
  read(&read_chat_request, *json, text);
  read(&read_completion_request, *json, text);
  read(&read_embedding_request, *json, text);
  read(&read_infill_request, *json, text, kInfillAnswers.names);
  read(&read_messages_request, *json, text, kMessagesAnswers.names);
  read(&read_count_tokens_request, *json, text, kMessagesAnswers.names);
  read(&read_responses_request, *json, text, kResponsesAnswers.names);
  read(&read_ollama_chat, *json, text, kOllamaChatAnswers.names);
  read(&read_ollama_generate, *json, text, kOllamaGenerateAnswers.names);
  read([](const Json& body, const RequestLimits&) { return read_tokenize_request(body); }, *json,
       text);
  const auto show = read_ollama_show(*json);
  if (!show.ok()) check_refusal(show.error(), {});
}

std::vector<std::string> body_corpus() {
  return {kChatBody,       kCompletionBody,     kMessagesBody, kResponsesBody,
          kOllamaChatBody, kOllamaGenerateBody, kInfillBody,   kEmbeddingsBody};
}

}  // namespace kantha::api
