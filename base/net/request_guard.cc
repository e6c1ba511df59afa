#include "base/net/request_guard.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/net/ascii.h"

namespace kantha::net {
namespace {

Refusal bad_request(std::string message) { return {400, std::move(message)}; }

Refusal line_too_long(const HttpLimits& limits) {
  return {414, "request line is longer than " + std::to_string(limits.request_line_bytes_max) +
                   " bytes"};
}

Refusal head_too_long(const HttpLimits& limits) {
  return {431,
          "header fields are longer than " + std::to_string(limits.header_bytes_max) + " bytes"};
}

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find("\r\n");
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), line.size() + 2));
  return line;
}

std::optional<Refusal> check_version(std::string_view version, RequestFacts& facts) {
  facts.is_http_10 = version == "HTTP/1.0";
  facts.keep_alive = !facts.is_http_10;
  if (version == "HTTP/1.1" || facts.is_http_10) return std::nullopt;
  const bool is_other = version.size() == 8 && version.starts_with("HTTP/") &&
                        is_digit(version[5]) && version[6] == '.' && is_digit(version[7]);
  if (is_other) return Refusal{505, "only HTTP/1.1 and HTTP/1.0 are spoken here"};
  return bad_request("request line does not end in HTTP/1.1");
}

/// method SP request-target SP HTTP-version
std::optional<Refusal> check_request_line(std::string_view line, RequestFacts& facts) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == line.npos || first == last) return bad_request("request line has not three parts");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (method.size() > 32 || !is_token(method)) return bad_request("method is not a token");
  const auto is_visible = [](char c) { return c > 0x20 && c < 0x7f; };
  if (!std::ranges::all_of(target, is_visible)) {
    return bad_request("request target holds blanks, control or non-ASCII characters");
  }
  if (!target.starts_with('/') && target != "*" && !starts_with_ignoring_case(target, "http://")) {
    return bad_request("request target must start with / or http://");
  }
  facts.is_head = method == "HEAD";
  return check_version(line.substr(last + 1), facts);
}

/// What the framing fields said so far.
struct Framing {
  std::optional<std::uint64_t> content_length = {};
  bool is_chunked = false;
  int host_count = 0;
};

std::optional<Refusal> note_content_length(std::string_view value, Framing& framing) {
  if (framing.content_length) return bad_request("Content-Length is repeated");
  std::uint64_t length = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), length);
  // from_chars takes no sign for unsigned types and stops at commas, so "+1" and "1, 1" fail.
  if (value.empty() || parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) {
    return bad_request("Content-Length is not a decimal number");
  }
  framing.content_length = length;
  return std::nullopt;
}

void note_connection(std::string_view value, RequestFacts& facts) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string_view option = trim(value.substr(0, comma));
    if (equals_ignoring_case(option, "close")) facts.keep_alive = false;
    if (facts.is_http_10 && equals_ignoring_case(option, "keep-alive")) facts.keep_alive = true;
    value.remove_prefix(std::min(value.size(), comma + 1));
  }
}

/// Takes in one field whose spelling has been checked.
std::optional<Refusal> note_field(std::string_view name, std::string_view value, Framing& framing,
                                  RequestFacts& facts) {
  if (equals_ignoring_case(name, "content-length")) return note_content_length(value, framing);
  if (equals_ignoring_case(name, "transfer-encoding")) {
    if (framing.is_chunked) return bad_request("Transfer-Encoding is repeated");
    if (!equals_ignoring_case(value, "chunked")) {
      return bad_request("the only Transfer-Encoding taken is chunked");
    }
    framing.is_chunked = true;
  } else if (equals_ignoring_case(name, "host")) {
    if (++framing.host_count > 1) return bad_request("Host is repeated");
  } else if (equals_ignoring_case(name, "connection")) {
    note_connection(value, facts);
  } else if (equals_ignoring_case(name, "expect")) {
    if (!equals_ignoring_case(value, "100-continue")) {
      return Refusal{417, "the only Expect taken is 100-continue"};
    }
    facts.expects_continue = !facts.is_http_10;
  }
  return std::nullopt;
}

std::optional<Refusal> check_field_line(std::string_view line, Framing& framing,
                                        RequestFacts& facts) {
  if (line.front() == ' ' || line.front() == '\t') {
    return bad_request("folded header lines are not taken");
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return bad_request("header line without a colon");
  const std::string_view name = line.substr(0, colon);
  if (!is_token(name)) return bad_request("header name is not a token");
  const std::string_view value = line.substr(colon + 1);
  if (std::ranges::any_of(value, [](char c) { return is_control(c) && c != '\t'; })) {
    return bad_request("control character in the value of header " + std::string(name));
  }
  return note_field(name, trim(value), framing, facts);
}

std::optional<Refusal> check_framing(const Framing& framing, const HttpLimits& limits,
                                     RequestFacts& facts) {
  if (framing.host_count == 0 && !facts.is_http_10) return bad_request("Host is missing");
  if (framing.is_chunked && framing.content_length) {
    return bad_request("both Content-Length and Transfer-Encoding are given");
  }
  if (framing.is_chunked && facts.is_http_10) {
    return bad_request("Transfer-Encoding does not exist in HTTP/1.0");
  }
  const std::uint64_t length = framing.content_length.value_or(0);
  if (length > limits.body_bytes_max) {
    return Refusal{413, "body of " + std::to_string(length) + " bytes is over the limit of " +
                            std::to_string(limits.body_bytes_max)};
  }
  facts.has_body = framing.is_chunked || length > 0;
  return std::nullopt;
}

}  // namespace

HeadScanner::Found HeadScanner::scan(std::string_view buffer) {
  if (!buffer.empty() && scanned_ == 0 && !is_token_char(buffer.front())) {
    return {.refusal = bad_request("this is not an HTTP request")};
  }
  while (scanned_ < buffer.size()) {
    const std::size_t lf = buffer.find('\n', scanned_);
    scanned_ = lf == buffer.npos ? buffer.size() : lf + 1;
    const std::size_t line_bytes = scanned_ - line_start_;
    if (in_request_line_ && line_bytes > limits_.request_line_bytes_max) {
      return {.refusal = line_too_long(limits_)};
    }
    if (!in_request_line_ && scanned_ - fields_start_ > limits_.header_bytes_max) {
      return {.refusal = head_too_long(limits_)};
    }
    if (lf == buffer.npos) break;
    if (lf == line_start_ || buffer[lf - 1] != '\r') {
      return {.refusal = bad_request("line ends in LF without CR")};
    }
    if (line_bytes == 2) return {.head_bytes = scanned_};
    line_start_ = scanned_;
    if (in_request_line_) fields_start_ = scanned_;
    in_request_line_ = false;
  }
  return {};
}

HeadVerdict check_request_head(std::string_view head, const HttpLimits& limits) {
  HeadVerdict verdict;
  std::string_view rest = head;
  const std::string_view request_line = next_line(rest);
  if (request_line.size() + 2 > limits.request_line_bytes_max) {
    verdict.refusal = line_too_long(limits);
    return verdict;
  }
  if (rest.size() > limits.header_bytes_max) {
    verdict.refusal = head_too_long(limits);
    return verdict;
  }
  verdict.refusal = check_request_line(request_line, verdict.facts);
  Framing framing;
  std::size_t field_count = 0;
  while (!verdict.refusal) {
    const std::string_view line = next_line(rest);
    if (line.empty()) break;
    if (++field_count > limits.header_count_max) {
      verdict.refusal =
          Refusal{431, "more than " + std::to_string(limits.header_count_max) + " header fields"};
    } else {
      verdict.refusal = check_field_line(line, framing, verdict.facts);
    }
  }
  if (!verdict.refusal) verdict.refusal = check_framing(framing, limits, verdict.facts);
  return verdict;
}

}  // namespace kantha::net
