#include "noded/models/answer_rules.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace kantha::noded {
namespace {

constexpr std::int64_t kRetryAfterMaxSeconds = 3600;

/// Digits only, so that no sign and no blank is taken for a number.
std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  if (!digit || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string field(const net::Headers& headers, std::string_view name) {
  return std::string(headers.find(name).value_or(std::string_view()));
}

std::string lower_field(const net::Headers& headers, std::string_view name) {
  std::string out = field(headers, name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// "bytes 5-9/10", "bytes 5-9/*", "bytes */10"; -1 for what is not said.
struct ContentRange {
  std::int64_t first = -1;
  std::int64_t last = -1;
  std::int64_t total = -1;
};

std::optional<ContentRange> content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  ContentRange out;
  const std::string_view total = text.substr(slash + 1);
  if (total != "*") {
    const auto count = count_of(total);
    if (!count) return std::nullopt;
    out.total = *count;
  }
  const std::string_view range = text.substr(0, slash);
  if (range == "*") return out;
  const auto first = count_of(range.substr(0, range.find('-')));
  const auto last =
      range.find('-') == range.npos ? std::nullopt : count_of(range.substr(range.find('-') + 1));
  if (!first || !last || *first > *last || (out.total >= 0 && *last >= out.total)) {
    return std::nullopt;
  }
  out.first = *first;
  out.last = *last;
  return out;
}

bool is_strong(const std::string& etag) { return !etag.empty() && !etag.starts_with("W/"); }

PartNote note_of(const FileAsk& ask, const net::Headers& headers, std::int64_t total) {
  return {ask.source, field(headers, "etag"), field(headers, "last-modified"), total};
}

AnswerVerdict verdict(AnswerKind kind, std::string why) {
  AnswerVerdict out;
  out.kind = kind;
  out.why = std::move(why);
  return out;
}

/// Why the body cannot be the file, by the fields alone; empty when it can.
std::string body_problem(const FileAsk& ask, const net::Headers& headers, std::int64_t total) {
  const std::string encoding = lower_field(headers, "content-encoding");
  if (!encoding.empty() && encoding != "identity") {
    return "the server sends the file compressed (Content-Encoding: " + encoding.substr(0, 40) +
           "), which was not asked for";
  }
  if (lower_field(headers, "content-type").starts_with("text/html")) {
    return "the server answers with an HTML page instead of a file";
  }
  if (ask.expected_bytes > 0 && total >= 0 && total != ask.expected_bytes) {
    return "wrong size: expected " + std::to_string(ask.expected_bytes) +
           " bytes, the server has " + std::to_string(total);
  }
  return {};
}

AnswerVerdict judge_whole(const FileAsk& ask, const net::Headers& headers) {
  const std::int64_t total = count_of(field(headers, "content-length")).value_or(-1);
  std::string problem = body_problem(ask, headers, total);
  if (!problem.empty()) return verdict(AnswerKind::kRefuse, std::move(problem));
  AnswerVerdict out;
  out.kind = AnswerKind::kStartOver;
  out.note = note_of(ask, headers, total);
  return out;
}

AnswerVerdict judge_part(const FileAsk& ask, const net::Headers& headers) {
  const std::string text = field(headers, "content-range");
  const auto range = content_range(text);
  if (!range || range->first < 0 || ask.offset == 0) {
    return verdict(AnswerKind::kAskAnew, "the server answers 206 without a usable Content-Range");
  }
  if (range->first != ask.offset) {
    return verdict(AnswerKind::kAskAnew, "asked for bytes from " + std::to_string(ask.offset) +
                                             ", the server sends those from " +
                                             std::to_string(range->first));
  }
  std::string problem = body_problem(ask, headers, range->total);
  if (!problem.empty()) return verdict(AnswerKind::kRefuse, std::move(problem));
  const bool other_size =
      range->total >= 0 && ask.note.total >= 0 && range->total != ask.note.total;
  AnswerVerdict out;
  out.note = note_of(ask, headers, range->total >= 0 ? range->total : ask.note.total);
  const bool other_file = ask.is_same_source() && is_strong(out.note.etag) &&
                          is_strong(ask.note.etag) && out.note.etag != ask.note.etag;
  if (other_size || other_file) {
    return verdict(AnswerKind::kAskAnew, "the file on the server is another one than before");
  }
  out.kind = AnswerKind::kAppend;
  return out;
}

AnswerVerdict judge_beyond(const FileAsk& ask, const net::Headers& headers) {
  const auto range = content_range(field(headers, "content-range"));
  if (range && range->total == ask.offset && ask.offset > 0) {
    AnswerVerdict out;
    out.kind = AnswerKind::kWholeThere;
    out.note = ask.note;
    out.note.total = range->total;
    return out;
  }
  if (ask.offset == 0)
    return verdict(AnswerKind::kRefuse,
                   "the server answers 416 to a request "
                   "for the whole file");
  return verdict(AnswerKind::kAskAnew,
                 "the file on the server ends before byte " + std::to_string(ask.offset));
}

AnswerVerdict judge_failure(int status, const net::Headers& headers) {
  AnswerVerdict out;
  const bool later = status >= 500 || status == 408 || status == 425 || status == 429;
  out.kind = later || status < 400 ? AnswerKind::kRetry : AnswerKind::kRefuse;
  out.why = "the server answers " + std::to_string(status) + " " +
            std::string(net::reason_phrase(status));
  if (const auto seconds = count_of(field(headers, "retry-after"))) {
    out.retry_after = std::chrono::seconds(std::min(*seconds, kRetryAfterMaxSeconds));
  }
  return out;
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

net::Headers ask_headers(const FileAsk& ask) {
  net::Headers out;
  out.set("Accept", "*/*");
  out.set("Accept-Encoding", "identity");
  if (ask.offset <= 0) return out;
  out.set("Range", "bytes=" + std::to_string(ask.offset) + "-");
  if (!ask.is_same_source()) return out;
  if (is_strong(ask.note.etag)) {
    out.set("If-Range", ask.note.etag);
  } else if (!ask.note.last_modified.empty()) {
    out.set("If-Range", ask.note.last_modified);
  }
  return out;
}

AnswerVerdict judge_answer(const FileAsk& ask, int status, const net::Headers& headers) {
  if (status == 200) return judge_whole(ask, headers);
  if (status == 206) return judge_part(ask, headers);
  if (status == 416) return judge_beyond(ask, headers);
  const std::string location = field(headers, "location");
  if (is_redirect(status) && !location.empty()) {
    AnswerVerdict out;
    out.kind = AnswerKind::kRedirect;
    out.location = location;
    return out;
  }
  return judge_failure(status, headers);
}

}  // namespace kantha::noded
