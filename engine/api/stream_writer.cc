#include "engine/api/stream_writer.h"

#include <utility>

#include "engine/api/logprobs.h"

namespace kantha::api {
namespace {

OrderedJson usage_json(const Usage& usage) {
  OrderedJson json;
  json["prompt_tokens"] = usage.prompt_tokens;
  json["completion_tokens"] = usage.completion_tokens;
  json["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  json["prompt_tokens_details"]["cached_tokens"] = usage.cached_tokens;
  if (usage.reasoning_tokens) {
    json["completion_tokens_details"]["reasoning_tokens"] = *usage.reasoning_tokens;
  }
  return json;
}

/// A call's stretch in a chunk, or a whole call.
OrderedJson call_json(const dialect::CallDelta& call, bool chunk) {
  OrderedJson json;
  if (chunk) json["index"] = call.index;
  if (!call.id.empty()) {
    json["id"] = call.id;
    json["type"] = "function";
    json["function"]["name"] = call.name;
  }
  json["function"]["arguments"] = call.arguments;
  return json;
}

/// `reasoning_content` is what DeepSeek and most servers say, `reasoning` what newer ones do.
void add_reasoning_and_calls(const Delta& delta, bool chunk, OrderedJson& owner) {
  if (!delta.reasoning.empty()) {
    owner["reasoning_content"] = delta.reasoning;
    owner["reasoning"] = delta.reasoning;
  }
  for (const dialect::CallDelta& call : delta.calls) {
    owner["tool_calls"].push_back(call_json(call, chunk));
  }
}

OrderedJson chunk_delta(const Delta& delta) {
  OrderedJson json = OrderedJson::object();
  const bool other = !delta.reasoning.empty() || !delta.calls.empty();
  if (!delta.text.empty() || !other) json["content"] = delta.text;
  add_reasoning_and_calls(delta, /*chunk=*/true, json);
  return json;
}

OrderedJson whole_message(const Delta& answer) {
  OrderedJson message;
  message["role"] = "assistant";
  message["content"] = answer.text;
  if (answer.text.empty() && !answer.calls.empty()) message["content"] = nullptr;
  message["refusal"] = nullptr;
  add_reasoning_and_calls(answer, /*chunk=*/false, message);
  return message;
}

}  // namespace

std::string reply_id(ApiKind api, std::uint64_t entropy_high, std::uint64_t entropy_low) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id = api == ApiKind::kChat ? "chatcmpl-" : "cmpl-";
  for (int i = 15; i >= 0; --i) id += kDigits[(entropy_high >> (4 * i)) & 15];
  for (int i = 7; i >= 0; --i) id += kDigits[(entropy_low >> (4 * i)) & 15];
  return id;
}

StreamWriter::StreamWriter(ReplyHead head, StreamWriterOptions options)
    : head_(std::move(head)), options_(options) {}

/// The members that come before `choices`.
OrderedJson StreamWriter::frame(bool chunk) {
  OrderedJson json;
  json["id"] = head_.id;
  if (head_.api == ApiKind::kChat) {
    json["object"] = chunk ? "chat.completion.chunk" : "chat.completion";
  } else {
    json["object"] = "text_completion";
  }
  json["created"] = head_.created;
  json["model"] = head_.model;
  json["system_fingerprint"] = head_.fingerprint;
  json["choices"] = OrderedJson::array();
  return json;
}

OrderedJson StreamWriter::logprobs_of(const Delta& delta) {
  if (!options_.logprobs) return nullptr;
  if (head_.api == ApiKind::kChat) {
    return delta.scores.empty() ? OrderedJson(nullptr) : chat_logprobs(delta.scores);
  }
  const auto place = offsets_.try_emplace(delta.index, options_.text_offset).first;
  return completion_logprobs(delta.scores, place->second);
}

/// A choice with its text in the API's own place and finish_reason null.
OrderedJson StreamWriter::choice_frame(std::int32_t index, const Delta& delta, bool chunk) {
  OrderedJson choice;
  choice["index"] = index;
  if (head_.api == ApiKind::kCompletion) {
    choice["text"] = delta.text;
  } else if (chunk) {
    choice["delta"] = chunk_delta(delta);
  } else {
    choice["message"] = whole_message(delta);
  }
  choice["logprobs"] = logprobs_of(delta);
  choice["finish_reason"] = nullptr;
  return choice;
}

/// What the first chunk of a stream says of the request.
void StreamWriter::add_origin(OrderedJson& vendor) const {
  vendor["seed"] = options_.seed;
  if (options_.prompt_tokens > 0) vendor["prompt_tokens"] = options_.prompt_tokens;
}

std::string StreamWriter::chunk_of(OrderedJson choice, const std::vector<TokenId>& token_ids) {
  OrderedJson json = frame(/*chunk=*/true);
  json["choices"].push_back(std::move(choice));
  if (options_.include_usage) json["usage"] = nullptr;
  if (options_.token_ids) {
    json["kantha"]["token_ids"] = token_ids;
    if (!std::exchange(origin_told_, true)) add_origin(json["kantha"]);
  }
  return dump_json(json);
}

std::string StreamWriter::role(std::int32_t index) {
  OrderedJson choice = choice_frame(index, {}, /*chunk=*/true);
  OrderedJson delta;
  delta["role"] = "assistant";
  delta["content"] = "";
  choice["delta"] = std::move(delta);
  return chunk_of(std::move(choice), {});
}

std::string StreamWriter::delta(const Delta& delta) {
  return chunk_of(choice_frame(delta.index, delta, /*chunk=*/true), delta.token_ids);
}

std::string StreamWriter::finish(std::int32_t index, std::string_view reason,
                                 const std::vector<TokenId>& rest) {
  OrderedJson choice = choice_frame(index, {}, /*chunk=*/true);
  if (head_.api == ApiKind::kChat) choice["delta"] = OrderedJson::object();
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = reason;
  return chunk_of(std::move(choice), rest);
}

std::string StreamWriter::usage(const Usage& usage) {
  OrderedJson json = frame(/*chunk=*/true);
  json["usage"] = usage_json(usage);
  return dump_json(json);
}

std::string StreamWriter::whole(const std::vector<Choice>& choices, const Usage& usage) {
  OrderedJson json = frame(/*chunk=*/false);
  for (const Choice& choice : choices) {
    OrderedJson entry = choice_frame(choice.answer.index, choice.answer, /*chunk=*/false);
    entry["finish_reason"] = choice.finish_reason;
    if (choice.prompt_logprobs) {
      // vLLM has one list in a chat's answer, since all choices have one prompt.
      OrderedJson& owner = head_.api == ApiKind::kChat ? json : entry;
      owner["prompt_logprobs"] = prompt_logprobs(*choice.prompt_logprobs);
    }
    if (options_.token_ids) entry["kantha"]["token_ids"] = choice.answer.token_ids;
    json["choices"].push_back(std::move(entry));
  }
  json["usage"] = usage_json(usage);
  if (options_.token_ids) json["kantha"]["seed"] = options_.seed;
  return dump_json(json);
}

}  // namespace kantha::api
