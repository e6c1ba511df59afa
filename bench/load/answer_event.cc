#include "bench/load/answer_event.h"

#include <algorithm>
#include <cstdint>

#include "base/json.h"

namespace kantha::bench {
namespace {

constexpr std::size_t kErrorLineBytesMax = 200;

/// The field of that name, or null where there is no such thing.
const Json& field(const Json& json, const char* name) {
  static const Json absent;
  if (!json.is_object()) return absent;
  const auto found = json.find(name);
  return found == json.end() ? absent : *found;
}

std::optional<std::int64_t> count(const Json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > (1ULL << 53)) return std::nullopt;
  const auto value = json.get<std::int64_t>();
  if (value < 0) return std::nullopt;
  return value;
}

std::optional<Usage> read_usage(const Json& json) {
  const auto prompt = count(field(json, "prompt_tokens"));
  const auto output = count(field(json, "completion_tokens"));
  if (!prompt || !output) return std::nullopt;
  return Usage{*prompt, *output,
               count(field(field(json, "prompt_tokens_details"), "cached_tokens"))};
}

bool has_text(const Json& json) {
  return json.is_string() && !json.get_ref<const std::string&>().empty();
}

/// `part`: "delta" of a chunk, "message" of a whole answer; text completions have neither.
void read_choices(const Json& choices, const char* part, AnswerEvent& event) {
  if (!choices.is_array()) return;
  for (const Json& choice : choices) {
    const Json& says = field(choice, part);
    event.has_content |= has_text(field(choice, "text")) || has_text(field(says, "content")) ||
                         has_text(field(says, "reasoning_content")) ||
                         has_text(field(says, "reasoning")) || !field(says, "tool_calls").empty();
    event.is_finish |= has_text(field(choice, "finish_reason"));
  }
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, kErrorLineBytesMax));
  std::ranges::replace_if(
      line, [](unsigned char byte) { return byte < 0x20 || byte == 0x7f; }, ' ');
  return text.size() > kErrorLineBytesMax ? line + " …" : line;
}

std::string message_of(const Json& error) {
  const Json& message = field(error, "message");
  if (has_text(message)) return one_line(message.get_ref<const std::string&>());
  if (has_text(error)) return one_line(error.get_ref<const std::string&>());
  return one_line(dump_json(error));
}

Result<AnswerEvent> read(std::string_view text, const char* part) {
  const Result<Json> json = parse_json(text, {.nodes_max = 1'000'000, .bytes_max = 64u << 20});
  if (!json.ok()) return data_loss("no JSON: " + one_line(text));
  if (!json->is_object()) return data_loss("no JSON object: " + one_line(text));
  AnswerEvent event;
  const Json& error = field(*json, "error");
  if (!error.is_null()) event.error = message_of(error);
  event.usage = read_usage(field(*json, "usage"));
  read_choices(field(*json, "choices"), part, event);
  return event;
}

}  // namespace

Result<AnswerEvent> read_event(std::string_view payload) {
  if (payload == "[DONE]") return AnswerEvent{.is_end_mark = true};
  return read(payload, "delta");
}

Result<AnswerEvent> read_whole(std::string_view body) {
  TRY(AnswerEvent event, read(body, "message"));
  if (!event.error && !event.is_finish && !event.has_content) {
    return data_loss("no choice with a text or a finish_reason: " + one_line(body));
  }
  event.is_end_mark = true;
  return event;
}

std::string error_line(std::string_view body) {
  const Result<Json> json = parse_json(body);
  if (json.ok()) {
    const Json& error = field(*json, "error");
    if (!error.is_null()) return message_of(error);
  }
  return body.empty() ? "an empty body" : one_line(body);
}

}  // namespace kantha::bench
