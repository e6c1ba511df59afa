#include "base/result.h"

namespace kantha {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kUnauthenticated: return "unauthenticated";
    case Code::kPermissionDenied: return "permission_denied";
    case Code::kNotFound: return "not_found";
    case Code::kAlreadyExists: return "already_exists";
    case Code::kConflict: return "conflict";
    case Code::kOutOfRange: return "out_of_range";
    case Code::kResourceExhausted: return "resource_exhausted";
    case Code::kFailedPrecondition: return "failed_precondition";
    case Code::kUnavailable: return "unavailable";
    case Code::kDeadlineExceeded: return "deadline_exceeded";
    case Code::kCancelled: return "cancelled";
    case Code::kDataLoss: return "data_loss";
    case Code::kUnimplemented: return "unimplemented";
    case Code::kInternal: return "internal";
  }
  CHECK(false, "unknown code");
}

Error Error::with_context(std::string_view context) && {
  message = std::string(context) + ": " + message;
  return std::move(*this);
}

std::string Error::to_string() const {
  std::string text(code_name(code));
  text += ": " + message;
  if (!field.empty()) text += " (" + field + ")";
  return text;
}

}  // namespace kantha
