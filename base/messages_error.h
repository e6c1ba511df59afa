#pragma once

#include <string_view>

/// The types of errors of Anthropic's Messages API (docs.claude.com, "Errors"), for everybody who
/// writes its error objects: the engine, and a pod's door in front of it. Pure; any thread.
namespace kantha {

/// `error.type` by HTTP status. Anthropic says "overloaded" with 529; here it is 503.
constexpr std::string_view messages_error_type(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    case 504: return "timeout_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

}  // namespace kantha
