#include "base/net/message_head.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/net/ascii.h"

namespace kantha::net {
namespace {

/// Fields that belong to the connection, which only this library may speak about.
bool is_connection_field(std::string_view name) {
  return equals_ignoring_case(name, "content-length") ||
         equals_ignoring_case(name, "transfer-encoding") ||
         equals_ignoring_case(name, "connection") || equals_ignoring_case(name, "date");
}

/// IMF-fixdate of RFC 9110; strftime would follow the locale.
std::string http_date(WallTime now) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const time_t seconds = WallTime::clock::to_time_t(now);
  tm parts = {};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text.data();
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (const char c : value) out.push_back(is_control(c) && c != '\t' ? ' ' : c);
  out.append("\r\n");
}

bool is_safe_value(std::string_view value) {
  return std::ranges::none_of(value, [](char c) { return is_control(c) && c != '\t'; });
}

bool is_safe_target(std::string_view target) {
  return !target.empty() &&
         std::ranges::all_of(target, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

bool is_bodyless(int status) { return status < 200 || status == 204 || status == 304; }

std::string render_answer_head(int status, const Headers& headers, const AnswerFraming& framing) {
  CHECK(status >= 100 && status <= 999, "HTTP status has three digits");
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out.append(reason_phrase(status)).append("\r\n");
  append_field(out, "Date", http_date(framing.now));
  for (const auto& [name, value] : headers.all()) {
    CHECK(is_token(name), "a handler's header name is a token");
    if (!is_connection_field(name)) append_field(out, name, value);
  }
  if (framing.body == BodyFraming::kChunked) {
    append_field(out, "Transfer-Encoding", "chunked");
  } else if (framing.body == BodyFraming::kLength && !is_bodyless(status)) {
    append_field(out, "Content-Length", std::to_string(framing.content_length));
  }
  if (!framing.keep_alive) {
    append_field(out, "Connection", "close");
  } else if (framing.is_http_10) {
    append_field(out, "Connection", "keep-alive");
  }
  return out.append("\r\n");
}

Result<std::string> render_request(const HttpRequest& request, const Endpoint& endpoint) {
  if (!is_token(request.method)) return invalid_argument("method is not a token", "method");
  if (!is_safe_target(request.target)) {
    return invalid_argument("request target holds blanks, control or non-ASCII characters",
                            "target");
  }
  std::string out = request.method + " " + request.target + " HTTP/1.1\r\n";
  if (!request.headers.find("host")) {
    append_field(out, "Host", endpoint.is_unix() ? "localhost" : endpoint.to_string());
  }
  for (const auto& [name, value] : request.headers.all()) {
    if (!is_token(name) || !is_safe_value(value)) {
      return invalid_argument("header " + name + " holds characters that HTTP forbids", name);
    }
    if (equals_ignoring_case(name, "content-length")) continue;
    if (equals_ignoring_case(name, "transfer-encoding")) continue;
    append_field(out, name, value);
  }
  const bool has_body_by_method =
      request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (has_body_by_method || !request.body.empty()) {
    append_field(out, "Content-Length", std::to_string(request.body.size()));
  }
  return out.append("\r\n").append(request.body);
}

std::string render_chunk(std::string_view piece) {
  CHECK(!piece.empty(), "an empty chunk would end the body");
  std::array<char, 24> size = {};
  std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
  std::string out = size.data();
  out.reserve(out.size() + piece.size() + 2);
  return out.append(piece).append("\r\n");
}

HttpResponse error_answer(int status, std::string_view message) {
  const nlohmann::ordered_json error = {
      {"message", message},
      {"type", status >= 500 ? "server_error" : "invalid_request_error"},
      {"param", nullptr},
      {"code", nullptr}};
  const nlohmann::ordered_json document = {{"error", error}};
  HttpResponse response = {.status = status, .headers = {{"Content-Type", "application/json"}}};
  // Bytes that are not UTF-8 are replaced; dump would throw on them.
  response.body = document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return response;
}

}  // namespace kantha::net
