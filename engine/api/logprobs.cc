#include "engine/api/logprobs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kantha::api {
namespace {

/// OpenAI's floor; infinities and NaN are not JSON.
double printable(double logprob) {
  constexpr double kFloor = -9999.0;
  return std::isfinite(logprob) && logprob > kFloor ? std::min(logprob, 0.0) : kFloor;
}

/// Length of the well-formed UTF-8 sequence at the start of `bytes`, or 0 (RFC 3629, section 4).
std::size_t sequence_length(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool beyond = (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F);
  return overlong || beyond ? 0 : length;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

/// A token as a JSON string: its text, or "bytes:\xe2\x82" when it is part of a character.
std::string token_text(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
  }
  return text;
}

OrderedJson chat_candidate(const Candidate& candidate) {
  OrderedJson bytes = OrderedJson::array();
  for (const char c : candidate.bytes) bytes.push_back(static_cast<unsigned char>(c));
  OrderedJson json;
  json["token"] = token_text(candidate.bytes);
  json["logprob"] = printable(candidate.logprob);
  json["bytes"] = std::move(bytes);
  return json;
}

/// Two tokens may have the same text; the better one comes first and keeps its place.
void add_candidate(OrderedJson& map, const Candidate& candidate) {
  const std::string text = token_text(candidate.bytes);
  if (!map.contains(text)) map[text] = printable(candidate.logprob);
}

}  // namespace

std::int64_t count_characters(std::string_view bytes) {
  std::int64_t count = 0;
  for (const char c : bytes) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

OrderedJson chat_logprobs(const std::vector<ScoredToken>& scores) {
  OrderedJson content = OrderedJson::array();
  for (const ScoredToken& score : scores) {
    OrderedJson entry = chat_candidate(score.chosen);
    entry["top_logprobs"] = OrderedJson::array();
    for (const Candidate& candidate : score.top) {
      entry["top_logprobs"].push_back(chat_candidate(candidate));
    }
    content.push_back(std::move(entry));
  }
  OrderedJson json;
  json["content"] = std::move(content);
  json["refusal"] = nullptr;
  return json;
}

OrderedJson completion_logprobs(const std::vector<ScoredToken>& scores, std::int64_t& offset) {
  OrderedJson json;
  for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
    json[name] = OrderedJson::array();
  }
  for (const ScoredToken& score : scores) {
    json["tokens"].push_back(token_text(score.chosen.bytes));
    json["text_offset"].push_back(std::max<std::int64_t>(offset, 0));
    if (score.scored) {
      OrderedJson top = OrderedJson::object();
      for (const Candidate& candidate : score.top) add_candidate(top, candidate);
      add_candidate(top, score.chosen);
      json["token_logprobs"].push_back(printable(score.chosen.logprob));
      json["top_logprobs"].push_back(std::move(top));
    } else {
      json["token_logprobs"].push_back(nullptr);
      json["top_logprobs"].push_back(nullptr);
    }
    offset += count_characters(score.chosen.bytes);
  }
  return json;
}

OrderedJson prompt_logprobs(const std::vector<PromptPlace>& places) {
  OrderedJson json = OrderedJson::array();
  for (const PromptPlace& place : places) {
    if (place.empty()) {
      json.push_back(nullptr);
      continue;
    }
    OrderedJson candidates = OrderedJson::object();
    for (const PromptCandidate& candidate : place) {
      const std::string id = std::to_string(candidate.token);
      if (candidates.contains(id)) continue;
      OrderedJson& entry = candidates[id];
      entry["logprob"] = printable(candidate.value.logprob);
      entry["rank"] = candidate.rank;
      entry["decoded_token"] = token_text(candidate.value.bytes);
    }
    json.push_back(std::move(candidates));
  }
  return json;
}

}  // namespace kantha::api
