#include "engine/api/openai_error.h"

#include <algorithm>

#include "base/json.h"

namespace kantha::api {
namespace {

std::string_view error_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 429: return "rate_limit_error";
    case 503: return "service_unavailable_error";
    case 504: return "timeout_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

/// `code` when the error names no reason; null where the type says it all, as OpenAI has it.
OrderedJson default_code(int status) {
  switch (status) {
    case 401: return "invalid_api_key";
    case 404: return "not_found";
    case 413: return kReasonTooLarge;
    case 429: return "rate_limit_exceeded";
    default: return nullptr;
  }
}

}  // namespace

int http_status(const Error& error) {
  if (error.reason == kReasonMethodNotAllowed) return 405;
  if (error.reason == kReasonTooLarge) return 413;
  switch (error.code) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kUnimplemented: return 400;
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kFailedPrecondition: return 409;
    case Code::kResourceExhausted: return 429;
    case Code::kCancelled:  // nobody is left to read it
    case Code::kUnavailable: return 503;
    case Code::kDeadlineExceeded: return 504;
    case Code::kDataLoss:
    case Code::kInternal: return 500;
  }
  return 500;
}

std::string error_body(const Error& error) {
  const int status = http_status(error);
  OrderedJson object;
  object["message"] = error.message;
  object["type"] = error_type(status);
  object["param"] = error.field.empty() ? OrderedJson(nullptr) : OrderedJson(error.field);
  object["code"] = error.reason.empty() ? default_code(status) : OrderedJson(error.reason);
  OrderedJson body;
  body["error"] = std::move(object);
  return dump_json(body);
}

HttpError to_http_error(const Error& error) {
  HttpError answer;
  answer.status = http_status(error);
  answer.body = error_body(error);
  if (answer.status == 429 || answer.status == 503) {
    const std::int64_t seconds = (error.retry_after_ms + 999) / 1000;
    answer.retry_after_s = static_cast<int>(std::clamp<std::int64_t>(seconds, 1, 3600));
  }
  return answer;
}

}  // namespace kantha::api
