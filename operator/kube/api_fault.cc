#include "operator/kube/api_fault.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/json_text.h"

namespace kantha::kube {
namespace {

/// A server that says "later" without a time means this.
constexpr std::int64_t kRetryAfterDefaultMs = 1000;
constexpr std::int64_t kRetryAfterSecondsMax = 3600;
constexpr std::size_t kMessageBytesMax = 2048;
/// Of a body that is no Status, such as a proxy's page.
constexpr std::size_t kExcerptBytesMax = 200;

struct FaultKind {
  ApiFault fault;
  std::string_view name;
  Code code;
};

constexpr std::array kKinds = {
    FaultKind{ApiFault::kNotFound, "NotFound", Code::kNotFound},
    FaultKind{ApiFault::kConflict, "Conflict", Code::kConflict},
    FaultKind{ApiFault::kAlreadyExists, "AlreadyExists", Code::kAlreadyExists},
    FaultKind{ApiFault::kExpired, "Expired", Code::kFailedPrecondition},
    FaultKind{ApiFault::kFutureVersion, "FutureVersion", Code::kUnavailable},
    FaultKind{ApiFault::kThrottled, "Throttled", Code::kResourceExhausted},
    FaultKind{ApiFault::kInvalid, "Invalid", Code::kInvalidArgument},
    FaultKind{ApiFault::kForbidden, "Forbidden", Code::kPermissionDenied},
    FaultKind{ApiFault::kUnauthorized, "Unauthorized", Code::kUnauthenticated},
    FaultKind{ApiFault::kTerminating, "Terminating", Code::kFailedPrecondition},
    FaultKind{ApiFault::kUnsupported, "Unsupported", Code::kUnimplemented},
    FaultKind{ApiFault::kServer, "Server", Code::kInternal},
    FaultKind{ApiFault::kUnreachable, "Unreachable", Code::kUnavailable},
    FaultKind{ApiFault::kTimeout, "Timeout", Code::kDeadlineExceeded},
    FaultKind{ApiFault::kMalformed, "Malformed", Code::kDataLoss},
    FaultKind{ApiFault::kCancelled, "Cancelled", Code::kCancelled},
};

const FaultKind& kind_of(ApiFault fault) {
  const auto found = std::ranges::find(kKinds, fault, &FaultKind::fault);
  CHECK(found != kKinds.end(), "kNone is the fault of no error");
  return *found;
}

/// The fields of a Status object that decide, whatever their types turn out to be.
struct StatusFacts {
  int code = 0;
  std::string reason = {};
  std::string message = {};
  std::string field = {};
  std::int64_t retry_after_seconds = 0;
  bool is_terminating = false;
  bool is_future_version = false;
};

std::int64_t number_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

void read_causes(const Json& details, StatusFacts& facts) {
  const auto causes = details.find("causes");
  if (causes == details.end() || !causes->is_array()) return;
  for (const Json& cause : *causes) {
    if (!cause.is_object()) continue;
    const std::string reason = text_at(cause, "reason");
    if (reason == "NamespaceTerminating") facts.is_terminating = true;
    if (reason == "ResourceVersionTooLarge") facts.is_future_version = true;
    if (facts.field.empty()) facts.field = text_at(cause, "field");
  }
}

StatusFacts facts_of(const Json& status) {
  StatusFacts facts;
  facts.code = static_cast<int>(std::clamp<std::int64_t>(number_of(status, "code"), 0, 999));
  facts.reason = text_at(status, "reason");
  facts.message = text_at(status, "message");
  if (facts.message.size() > kMessageBytesMax) facts.message.resize(kMessageBytesMax);
  if (const auto details = status.find("details");
      details != status.end() && details->is_object()) {
    facts.retry_after_seconds = number_of(*details, "retryAfterSeconds");
    read_causes(*details, facts);
  }
  // Servers before causes were given say it in words only.
  if (facts.message.find("because it is being terminated") != std::string::npos) {
    facts.is_terminating = true;
  }
  if (facts.message.find("Too large resource version") != std::string::npos) {
    facts.is_future_version = true;
  }
  return facts;
}

ApiFault fault_of_status(const StatusFacts& facts) {
  const int code = facts.code;
  if (facts.is_future_version && code >= 500) return ApiFault::kFutureVersion;
  if (facts.is_terminating && (code == 403 || code == 409)) return ApiFault::kTerminating;
  if (code == 410 || facts.reason == "Expired") return ApiFault::kExpired;
  switch (code) {
    case 401: return ApiFault::kUnauthorized;
    case 403: return ApiFault::kForbidden;
    case 404: return ApiFault::kNotFound;
    case 405:
    case 406:
    case 415:
    case 501: return ApiFault::kUnsupported;
    case 409:
      return facts.reason == "AlreadyExists" ? ApiFault::kAlreadyExists : ApiFault::kConflict;
    case 429: return ApiFault::kThrottled;
    // The server gave up reading; like its own failures, it says nothing about the object.
    case 408: return ApiFault::kServer;
    default: break;
  }
  if (code >= 500) return ApiFault::kServer;
  return code >= 400 ? ApiFault::kInvalid : ApiFault::kMalformed;
}

Error error_of(const StatusFacts& facts) {
  const ApiFault fault = fault_of_status(facts);
  const FaultKind& kind = kind_of(fault);
  Error error = {kind.code, facts.message, {}, std::string(kind.name)};
  if (fault == ApiFault::kInvalid) error.field = facts.field;
  const std::int64_t seconds =
      std::clamp<std::int64_t>(facts.retry_after_seconds, 0, kRetryAfterSecondsMax);
  error.retry_after_ms = seconds * 1000;
  if (fault == ApiFault::kThrottled && seconds == 0) error.retry_after_ms = kRetryAfterDefaultMs;
  return error;
}

/// Retry-After in seconds; its other form, a date, is not used by API servers.
std::int64_t retry_after_seconds(const net::Headers& headers) {
  const auto text = headers.find("retry-after");
  if (!text) return 0;
  std::int64_t seconds = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  return failure == std::errc{} && end == text->data() + text->size() ? seconds : 0;
}

/// The start of a body that is no Status, on one line.
std::string excerpt(std::string_view body) {
  std::string text(body.substr(0, kExcerptBytesMax));
  for (char& c : text) {
    const bool plain = c >= 0x20 && c < 0x7f;
    if (!plain) c = ' ';
  }
  return text;
}

std::optional<StatusFacts> facts_of_body(const std::string& body) {
  const Result<Json> json = parse_json(body);
  if (!json || !json->is_object() || text_at(*json, "kind") != "Status") return std::nullopt;
  return facts_of(*json);
}

}  // namespace

std::string_view fault_name(ApiFault fault) {
  return fault == ApiFault::kNone ? std::string_view() : kind_of(fault).name;
}

Error api_error(const net::HttpResponse& response) {
  StatusFacts facts = facts_of_body(response.body).value_or(StatusFacts{});
  // The status line is what the server meant; a Status that differs would be a proxy's mixture.
  facts.code = response.status;
  if (facts.message.empty()) {
    facts.message = "HTTP " + std::to_string(response.status) + " " +
                    std::string(net::reason_phrase(response.status));
    if (!response.body.empty()) facts.message += ": " + excerpt(response.body);
  }
  if (const std::int64_t seconds = retry_after_seconds(response.headers); seconds > 0) {
    facts.retry_after_seconds = seconds;
  }
  return error_of(facts);
}

Error api_error_of_status(const Json& status) {
  if (!status.is_object()) return error_of({.message = "an ERROR event without a Status"});
  StatusFacts facts = facts_of(status);
  if (facts.message.empty()) facts.message = "an ERROR event of code " + std::to_string(facts.code);
  return error_of(facts);
}

Error api_error_of_transport(Error error) {
  ApiFault fault = ApiFault::kServer;
  switch (error.code) {
    case Code::kUnavailable:
    // Keeps its code, which says that the request was taken.
    case Code::kDataLoss: fault = ApiFault::kUnreachable; break;
    case Code::kDeadlineExceeded: fault = ApiFault::kTimeout; break;
    case Code::kOutOfRange: fault = ApiFault::kMalformed; break;
    case Code::kCancelled: fault = ApiFault::kCancelled; break;
    case Code::kInvalidArgument: fault = ApiFault::kInvalid; break;
    default: break;
  }
  error.reason = fault_name(fault);
  return error;
}

ApiFault fault_of(const Error& error) {
  const auto found = std::ranges::find(kKinds, error.reason, &FaultKind::name);
  return found == kKinds.end() || error.reason.empty() ? ApiFault::kNone : found->fault;
}

bool may_have_happened(const Error& error) {
  switch (fault_of(error)) {
    case ApiFault::kServer:
    case ApiFault::kTimeout:
    case ApiFault::kMalformed:
    case ApiFault::kCancelled: return true;
    case ApiFault::kUnreachable: return error.code != Code::kUnavailable;
    default: return false;
  }
}

}  // namespace kantha::kube
