#include "noded/gateway/stream_ledger.h"

#include <charconv>
#include <utility>

namespace kantha::noded {
namespace {

constexpr std::string_view kEventEnd = "\n\n";
constexpr std::string_view kData = "data: ";
constexpr std::string_view kDone = "[DONE]";

std::optional<std::int64_t> read_count(std::string_view digits) {
  std::int64_t count = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, count);
  const bool whole = read.ec == std::errc() && read.ptr == end && count >= 0;
  return whole ? std::optional(count) : std::nullopt;
}

void put_event(std::string_view event, std::string& out) { out.append(event).append(kEventEnd); }

}  // namespace

StreamLedger::StreamLedger(bool shows_token_ids, LedgerLimits limits)
    : shows_token_ids_(shows_token_ids), limits_(limits) {}

std::string StreamLedger::feed(std::string_view bytes) {
  if (raw_) return std::string(bytes);
  std::string joined;
  if (!pending_.empty()) {
    joined = std::exchange(pending_, {}).append(bytes);
    bytes = joined;
  }
  std::string out;
  out.reserve(bytes.size());
  while (!finished_ && !gave_up_) {
    const std::size_t end = bytes.find(kEventEnd);
    if (end == bytes.npos) {
      pending_ = bytes;
      break;
    }
    take_event(bytes.substr(0, end), out);
    bytes.remove_prefix(end + kEventEnd.size());
  }
  if (pending_.size() > limits_.event_bytes_max) {
    raw_ = true;
    understood_ = false;
    out += std::exchange(pending_, {});
  }
  return out;
}

void StreamLedger::next_engine() {
  pending_.clear();
  gave_up_ = false;
  was_ended_ = false;
}

std::optional<std::string> StreamLedger::missing_end() const {
  if (!ended_ || (usage_wanted_ && !usage_sent_)) return std::nullopt;
  return "data: [DONE]\n\n";
}

/// Comments, and whatever else is no single line of data, pass as they are.
void StreamLedger::take_event(std::string_view event, std::string& out) {
  const bool is_data = event.starts_with(kData) && event.find('\n') == event.npos;
  if (is_data) {
    take_payload(event, event.substr(kData.size()), out);
  } else {
    if (!event.starts_with(':')) understood_ = false;
    put_event(event, out);
  }
}

void StreamLedger::take_payload(std::string_view event, std::string_view payload,
                                std::string& out) {
  if (payload == kDone) {
    finished_ = true;
    return put_event(event, out);
  }
  if (is_error_event(payload)) {
    gave_up_ = says_engine_ends(payload);
    was_ended_ = gave_up_ && says_engine_was_ended(payload);
    finished_ = !gave_up_;
    if (finished_) put_event(event, out);
    return;
  }
  if (const auto chunk = cut_chunk(payload)) return take_chunk(*chunk, out);
  if (const auto respelt = respell_chunk(payload)) {
    if (const auto chunk = cut_chunk(*respelt)) return take_chunk(*chunk, out);
  }
  understood_ = false;
  put_event(event, out);
}

void StreamLedger::take_chunk(const StreamChunk& chunk, std::string& out) {
  if (!append_token_ids(chunk.ids, token_ids_)) understood_ = false;
  if (token_ids_.size() > limits_.tokens_max) understood_ = false;
  if (seed_.empty()) seed_ = chunk.seed;
  if (!prompt_tokens_) prompt_tokens_ = read_count(chunk.prompt);
  if (head_.empty()) head_ = chunk.head;
  if (!is_repeated(chunk)) put(chunk, out);
  opened_ = opened_ || chunk.opens;
  ended_ = ended_ || chunk.ends;
  usage_wanted_ = usage_wanted_ || chunk.usage_comes;
  usage_sent_ = usage_sent_ || chunk.is_usage;
}

/// An engine that goes on where only the end was missing says that end again.
bool StreamLedger::is_repeated(const StreamChunk& chunk) const {
  return (chunk.opens && opened_) || (chunk.ends && ended_) || (chunk.is_usage && usage_sent_);
}

void StreamLedger::put(const StreamChunk& chunk, std::string& out) {
  out.append(kData).append(head_).append(chunk.choices);
  if (shows_token_ids_ && !chunk.is_usage) {
    out.append(R"(,"kantha":{"token_ids":[)").append(chunk.ids).push_back(']');
    if (!chunk.origin.empty() && !std::exchange(origin_shown_, true)) out.append(chunk.origin);
    out.push_back('}');
  }
  out.push_back('}');
  out.append(kEventEnd);
}

}  // namespace kantha::noded
