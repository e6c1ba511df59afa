#include "noded/gateway/resumable_request.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace kantha::noded {
namespace {

/// Above this, what we add might push the body over the engine's limit of 8 MiB. Such a body holds
/// more text than any window.
constexpr std::size_t kBodyBytesMax = 7u << 20;
constexpr std::int64_t kTimeoutMsMax = 86'400'000;  // the engine's own limit

bool is_null(const JsonSpan* value, std::string_view body) {
  return value == nullptr || value->in(body) == "null";
}

/// One prompt: a text, an array of token ids, or an array that holds only one of those.
bool is_one_prompt(const JsonSpan* prompt, std::string_view body) {
  if (prompt == nullptr) return false;
  if (body[prompt->begin] == '"') return true;
  const auto array = outline_array(body, *prompt);
  if (!array || array->count == 0) return false;
  const char first = body[array->first.begin];
  return array->count == 1 || (first != '"' && first != '[');
}

bool is_one_sample(const JsonSpan* n, std::string_view body) {
  return is_null(n, body) || n->in(body) == "1" || n->in(body) == "1.0";
}

void append_ids(std::string& text, std::span<const TokenId> ids) {
  char digits[16];
  bool is_first = true;
  for (const TokenId id : ids) {
    if (!is_first) text += ',';
    is_first = false;
    text.append(digits, std::to_chars(digits, digits + sizeof(digits), id).ptr);
  }
}

}  // namespace

/// `text` takes the place of the bytes at `place`.
struct ResumableRequest::Edit {
  JsonSpan place;
  std::string text;
};

std::optional<ResumableRequest> ResumableRequest::read(std::string_view path,
                                                       std::string_view body) {
  const bool is_chat = path == "/v1/chat/completions";
  if (!is_chat && path != "/v1/completions") return std::nullopt;
  if (body.size() > kBodyBytesMax) return std::nullopt;
  const auto root = outline_object(body, {0, body.size()});
  if (!root) return std::nullopt;
  const JsonSpan* stream = root->find("stream");
  if (stream == nullptr || stream->in(body) != "true") return std::nullopt;
  if (!is_one_sample(root->find("n"), body)) return std::nullopt;
  if (!is_chat && !is_one_prompt(root->find("prompt"), body)) return std::nullopt;
  ResumableRequest request;
  request.close_ = root->close;
  if (const JsonSpan* seed = root->find("seed")) {
    request.seed_ = is_null(seed, body) ? Presence::kNull : Presence::kGiven;
    request.seed_at_ = *seed;
  }
  const JsonSpan* vendor = root->find("kantha");
  if (vendor != nullptr && !request.read_vendor(body, *vendor)) return std::nullopt;
  return request;
}

bool ResumableRequest::read_vendor(std::string_view body, JsonSpan value) {
  vendor_at_ = value;
  vendor_ = is_null(&value, body) ? Presence::kNull : Presence::kGiven;
  if (vendor_ == Presence::kNull) return true;
  const auto outline = outline_object(body, value);
  if (!outline) return false;
  vendor_close_ = outline->close;
  vendor_has_members_ = !outline->members.empty();
  if (const JsonSpan* wish = outline->find("return_token_ids")) {
    return_ids_at_ = *wish;
    wants_token_ids_ = wish->in(body) == "true";
    if (!wants_token_ids_ && wish->in(body) != "false" && !is_null(wish, body)) return false;
  }
  if (const JsonSpan* timeout = outline->find("timeout_ms"); !is_null(timeout, body)) {
    timeout_at_ = *timeout;
    const std::string_view digits = timeout->in(body);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), timeout_ms_);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return false;
    // What is left of a wrong number must not look like a right one.
    if (timeout_ms_ <= 0 || timeout_ms_ > kTimeoutMsMax || digits.front() == '0') return false;
  }
  const JsonSpan* resume = outline->find("resume");
  return resume == nullptr || read_resume(body, *resume);
}

bool ResumableRequest::read_resume(std::string_view body, JsonSpan value) {
  resume_at_ = value;
  resume_ = is_null(&value, body) ? Presence::kNull : Presence::kGiven;
  if (resume_ == Presence::kNull) return true;
  const auto outline = outline_object(body, value);
  if (!outline || outline->members.size() != 1) return false;
  const JsonSpan* ids = outline->find("token_ids");
  if (ids == nullptr) return false;
  const auto array = outline_array(body, *ids);
  if (!array) return false;
  resumed_close_ = array->close;
  resumed_any_ = array->count > 0;
  return true;
}

/// The members that the vendor object does not have yet, as one text.
ResumableRequest::Edit ResumableRequest::vendor_edit(const ResumePoint& point) const {
  std::string members;
  if (!return_ids_at_) members = R"("return_token_ids":true)";
  if (resume_ == Presence::kAbsent && !point.token_ids.empty()) {
    if (!members.empty()) members += ',';
    members += R"("resume":{"token_ids":[)";
    append_ids(members, point.token_ids);
    members += "]}";
  }
  switch (vendor_) {
    case Presence::kAbsent: return {{close_, close_}, R"(,"kantha":{)" + members + "}"};
    case Presence::kNull: return {vendor_at_, "{" + members + "}"};
    case Presence::kGiven: break;
  }
  if (vendor_has_members_ && !members.empty()) members.insert(0, 1, ',');
  return {{vendor_close_, vendor_close_}, std::move(members)};
}

std::string ResumableRequest::body_for(std::string_view body, const ResumePoint& point) const {
  std::vector<Edit> edits;
  edits.push_back(vendor_edit(point));
  if (return_ids_at_) edits.push_back({*return_ids_at_, "true"});
  if (resume_ != Presence::kAbsent && !point.token_ids.empty()) {
    std::string ids = resumed_any_ ? "," : "";
    append_ids(ids, point.token_ids);
    if (resume_ == Presence::kGiven) {
      edits.push_back({{resumed_close_, resumed_close_}, std::move(ids)});
    } else {
      edits.push_back({resume_at_, R"({"token_ids":[)" + ids + "]}"});
    }
  }
  if (timeout_at_) {
    const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(point.elapsed).count();
    edits.push_back({*timeout_at_, std::to_string(std::max<std::int64_t>(timeout_ms_ - gone, 1))});
  }
  if (!point.seed.empty() && seed_ != Presence::kGiven) {
    const bool is_null = seed_ == Presence::kNull;
    const std::string digits(point.seed);
    edits.push_back(
        {is_null ? seed_at_ : JsonSpan{close_, close_}, is_null ? digits : R"(,"seed":)" + digits});
  }
  // Two at the same place are members of the body, whose order is free.
  std::ranges::sort(edits, {}, [](const Edit& edit) { return edit.place.begin; });
  std::size_t added = 0;
  for (const Edit& edit : edits) added += edit.text.size();
  std::string text;
  text.reserve(body.size() + added);
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    text.append(body.substr(at, edit.place.begin - at)).append(edit.text);
    at = edit.place.end;
  }
  return text.append(body.substr(at));
}

}  // namespace kantha::noded
