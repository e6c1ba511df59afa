#pragma once

#include <string>

#include "base/result.h"

/// Our errors as OpenAI's clients expect them. Pure; any thread.
namespace kantha::api {

/// What goes on the wire for one Error.
struct HttpError {
  int status = 500;
  std::string body;       ///< {"error":{"message","type","param","code"}}, always the four keys
  int retry_after_s = 0;  ///< Retry-After header; 0: none
};

/// Reasons (Error::reason) that this room gives a meaning of their own; each is also the `code`.
inline constexpr char kReasonContextLength[] = "context_length_exceeded";  ///< 400
inline constexpr char kReasonModelNotFound[] = "model_not_found";          ///< 404
inline constexpr char kReasonMethodNotAllowed[] = "method_not_allowed";    ///< 405
inline constexpr char kReasonTooLarge[] = "payload_too_large";             ///< 413
inline constexpr char kReasonMissing[] = "missing_required_parameter";     ///< 400
inline constexpr char kReasonUnsupported[] = "unsupported_parameter";      ///< 400
inline constexpr char kReasonDraining[] = "server_draining";               ///< 503
inline constexpr char kReasonLoading[] = "model_loading";                  ///< 503
inline constexpr char kReasonDeadline[] = "deadline_exceeded";             ///< 504

/// HTTP status of an error: invalid and unimplemented 400, unauthenticated 401, denied 403, not
/// found 404, exists, conflict and precondition 409, exhausted 429, unavailable 503, deadline 504,
/// the rest 500; the reasons above override it. Out of range is 400, or 413 with kReasonTooLarge.
int http_status(const Error& error);

/// The error object alone, as in `data: {"error":…}` of a stream that broke.
std::string error_body(const Error& error);

/// All of it. 429 and 503 always carry retry_after_s ≥ 1.
HttpError to_http_error(const Error& error);

}  // namespace kantha::api
