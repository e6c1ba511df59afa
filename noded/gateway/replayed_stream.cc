#include "noded/gateway/replayed_stream.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "noded/gateway/json_outline.h"
#include "noded/gateway/stream_chunk.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kTextBytesMax = 8u << 20;
constexpr std::size_t kEventBytesMax = 4u << 20;
constexpr std::string_view kData = "data: ";

/// The member of an object that is a string; nullptr when there is none.
std::string* string_in(OrderedJson& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get_ptr<std::string*>() : nullptr;
}

std::string text_in(OrderedJson& json, const char* name) {
  const std::string* text = string_in(json, name);
  return text == nullptr ? std::string() : *text;
}

/// A number's text; empty when there is none.
std::string index_in(const OrderedJson& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() ? std::string() : dump_json(*found);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty() || to.empty() || from == to) return;
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::optional<ReplayFormat> replay_format_of(std::string_view path) {
  if (path == "/v1/messages") return ReplayFormat::kMessages;
  if (path == "/v1/responses") return ReplayFormat::kResponses;
  if (path == "/api/chat" || path == "/api/generate") return ReplayFormat::kOllama;
  return std::nullopt;
}

std::optional<std::string> with_seed(std::string_view body, std::int64_t seed) {
  const auto root = outline_object(body, {0, body.size()});
  if (!root) return std::nullopt;
  std::string out(body);
  const JsonSpan* given = root->find("seed");
  if (given == nullptr) {
    const std::string comma = root->members.empty() ? "" : ",";
    out.insert(root->close, comma + "\"seed\":" + std::to_string(seed));
  } else if (given->in(body) == "null") {
    out.replace(given->begin, given->end - given->begin, std::to_string(seed));
  }
  return out;
}

ReplayedStream::Event ReplayedStream::read_messages(OrderedJson& json) {
  const std::string type = text_in(json, "type");
  if (type == "content_block_delta" && json.contains("delta")) {
    OrderedJson& delta = json["delta"];
    for (const char* name : {"text", "thinking", "partial_json"}) {
      std::string* text = string_in(delta, name);
      if (text != nullptr) return {Kind::kText, text, name + index_in(json, "index")};
    }
  }
  if (type == "error") return {Kind::kError};
  if (type == "ping") return {Kind::kPing};
  const bool is_known = type.starts_with("message_") || type.starts_with("content_block_");
  return {is_known ? Kind::kMark : Kind::kUnknown, nullptr, {}, type == "message_stop"};
}

ReplayedStream::Event ReplayedStream::read_responses(OrderedJson& json) {
  const std::string type = text_in(json, "type");
  if (!type.starts_with("response.")) return {};
  if (type == "response.failed") return {Kind::kError};
  std::string* text = type.ends_with(".delta") ? string_in(json, "delta") : nullptr;
  if (text != nullptr) return {Kind::kText, text, type + index_in(json, "output_index")};
  return {Kind::kMark, nullptr, {}, type == "response.completed" || type == "response.incomplete"};
}

ReplayedStream::Event ReplayedStream::read_ollama(OrderedJson& json) {
  if (json.contains("error")) return {Kind::kError};
  const auto done = json.find("done");
  if (done == json.end() || !done->is_boolean()) return {};
  if (done->get<bool>()) return {Kind::kMark, nullptr, {}, true};
  const bool is_chat = json.contains("message");
  OrderedJson& place = is_chat ? json["message"] : json;
  if (place.is_object() && place.contains("tool_calls")) return {Kind::kMark};
  std::string* thought = string_in(place, "thinking");
  if (thought != nullptr && !thought->empty()) return {Kind::kText, thought, "thinking"};
  std::string* text = string_in(place, is_chat ? "content" : "response");
  return text == nullptr ? Event{} : Event{Kind::kText, text, "text"};
}

ReplayedStream::Event ReplayedStream::read(OrderedJson& json) const {
  if (!json.is_object()) return {};
  switch (format_) {
    case ReplayFormat::kMessages: return read_messages(json);
    case ReplayFormat::kResponses: return read_responses(json);
    case ReplayFormat::kOllama: break;
  }
  return read_ollama(json);
}

std::string ReplayedStream::feed(std::string_view bytes) {
  if (raw_) return std::string(bytes);
  std::string joined;
  if (!pending_.empty()) {
    joined = std::exchange(pending_, {}).append(bytes);
    bytes = joined;
  }
  std::string out;
  while (!bytes.empty() && !finished_ && !gave_up_ && !differs_) {
    const std::size_t end = bytes.find(delimiter());
    if (end != bytes.npos) take(bytes.substr(0, end), out);
    const bool is_long = end == bytes.npos && bytes.size() > kEventBytesMax;
    if (is_long) (is_first_ ? raw_ : differs_) = true;
    if (raw_) return out.append(bytes);  // take() shows nothing of what it does not understand
    if (end == bytes.npos) {
      pending_ = bytes;
      break;
    }
    bytes.remove_prefix(end + delimiter().size());
    if (is_first_ && text_.size() > kTextBytesMax) {
      raw_ = true;
      return out.append(bytes);
    }
  }
  return out;
}

void ReplayedStream::next_engine() {
  pending_.clear();
  said_ = 0;
  marks_ = 0;
  flow_.clear();
  is_first_ = false;
  gave_up_ = false;
  was_ended_ = false;
  ids_.clear();
}

void ReplayedStream::take(std::string_view raw, std::string& out) {
  const bool is_lines = format_ == ReplayFormat::kOllama;
  if (!is_lines && raw.starts_with(':')) return void(out.append(raw).append(delimiter()));
  // Another pod's door, which says so in every dialect alike.
  const std::string_view payload = raw.starts_with(kData) ? raw.substr(kData.size()) : raw;
  if (is_error_event(payload) && says_engine_ends(payload)) {
    gave_up_ = true;
    was_ended_ = says_engine_was_ended(payload);
    return;
  }
  const std::size_t data = is_lines ? 0 : raw.find(kData);
  Result<OrderedJson> json = Error{Code::kInvalidArgument, "no data"};
  if (data != raw.npos) {
    json = parse_ordered_json(is_lines ? raw : raw.substr(data + kData.size()));
  }
  const Event event = json.ok() ? read(*json) : Event{};
  switch (event.kind) {
    case Kind::kMark: return take_mark(event, raw, *json, out);
    case Kind::kText: return take_text(event, raw, *json, out);
    case Kind::kPing: return pass(raw, *json, out);
    case Kind::kError:
      gave_up_ = raw.find("\"overloaded_error\"") != raw.npos;
      if (gave_up_) return;
      finished_ = true;
      return pass(raw, *json, out);
    case Kind::kUnknown: break;
  }
  (is_first_ ? raw_ : differs_) = true;
}

void ReplayedStream::take_mark(const Event& event, std::string_view raw, OrderedJson& json,
                               std::string& out) {
  note_ids(json);
  if (++marks_ <= shown_marks_) return;
  if (said_ < text_.size()) {  // an end before what the client has
    differs_ = true;
    return;
  }
  shown_marks_ = marks_;
  finished_ = event.is_last;
  pass(raw, json, out);
}

void ReplayedStream::take_text(const Event& event, std::string_view raw, OrderedJson& json,
                               std::string& out) {
  const std::string& piece = *event.text;
  std::string said = piece;
  if (flow_ != event.flow) {
    flow_ = event.flow;
    said = "\n" + flow_ + "\n" + piece;
  }
  if (said.empty() && said_ < text_.size()) return;
  const std::size_t again = std::min(said.size(), text_.size() - said_);
  const bool is_late = again == 0 && marks_ < shown_marks_;  // the client is beyond this text
  if (is_late || text_.compare(said_, again, said, 0, again) != 0) {
    differs_ = true;
    return;
  }
  said_ += said.size();
  if (again > 0 && again == said.size()) return;
  text_.append(said, again);
  // The name of a flow is never cut: texts end with a piece.
  if (again > 0) *event.text = said.substr(again);
  pass(raw, json, out);
}

/// Responses' events name the answer and its items again and again; others do so once.
void ReplayedStream::note_ids(const OrderedJson& json) {
  if (format_ != ReplayFormat::kResponses) return;
  for (const char* place : {"response", "item"}) {
    const auto object = json.find(place);
    if (object == json.end() || !object->is_object()) continue;
    if (created_.is_null() && object->contains("created_at")) created_ = (*object)["created_at"];
    for (const char* name : {"id", "call_id"}) {
      const auto id = object->find(name);
      if (id == object->end() || !id->is_string()) continue;
      const std::string text = id->get<std::string>();
      if (std::ranges::find(ids_, text) == ids_.end()) ids_.push_back(text);
    }
  }
  if (ids_.size() > first_ids_.size()) {
    first_ids_.insert(first_ids_.end(),
                      ids_.begin() + static_cast<std::ptrdiff_t>(first_ids_.size()), ids_.end());
  }
}

/// An event for the client: the first engine's as it is, another one's as the first would say it.
void ReplayedStream::pass(std::string_view raw, OrderedJson& json, std::string& out) {
  const std::int64_t number = next_number_++;
  if (format_ == ReplayFormat::kOllama && created_.is_null() && json.contains("created_at")) {
    created_ = json["created_at"];
  }
  if (is_first_) {
    out.append(raw).append(delimiter());
    return;
  }
  if (json.contains("sequence_number")) json["sequence_number"] = number;
  OrderedJson& timed =
      json.contains("response") && json["response"].is_object() ? json["response"] : json;
  if (timed.contains("created_at")) timed["created_at"] = created_;
  std::string text = dump_json(json);
  for (std::size_t i = 0; i < ids_.size(); ++i) replace_all(text, ids_[i], first_ids_[i]);
  const std::size_t data = format_ == ReplayFormat::kOllama ? 0 : raw.find(kData) + kData.size();
  out.append(raw.substr(0, data)).append(text).append(delimiter());
}

}  // namespace kantha::noded
