#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/result.h"

/// Spells the heads and chunks that we send. Pure.
namespace kantha::net {

/// How the body of an answer is delimited.
enum class BodyFraming : unsigned char { kLength, kChunked, kUntilClose };

struct AnswerFraming {
  BodyFraming body = BodyFraming::kLength;
  std::size_t content_length = 0;
  bool keep_alive = true;
  bool is_http_10 = false;
  WallTime now = {};
};

/// Status line, the handler's fields, our Date, Connection and framing fields, empty line. The
/// handler's own Content-Length, Transfer-Encoding and Connection are left out; control characters
/// in values become blanks, so that a value from outside cannot start a new field.
std::string render_answer_head(int status, const Headers& headers, const AnswerFraming& framing);

/// Head and body of a request. Adds Host and Content-Length. kInvalidArgument when method, target
/// or a field holds characters that would change the framing.
Result<std::string> render_request(const HttpRequest& request, const Endpoint& endpoint);

/// One chunk; never called with an empty piece, which would end the body.
std::string render_chunk(std::string_view piece);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// {"error": {"message", "type", "param": null, "code": null}}, as OpenAI's API has it.
HttpResponse error_answer(int status, std::string_view message);

/// True for 204, 304 and 1xx, whose answers end with the head.
bool is_bodyless(int status);

}  // namespace kantha::net
