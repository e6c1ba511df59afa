#pragma once

#include <string_view>

#include "base/json.h"
#include "base/net/http.h"
#include "base/result.h"

/// What the API server said no with, mapped once. Pure; any thread.
/// Source: Kubernetes API conventions, "Response Status Kind" (reason and code of a Status object).
namespace kantha::kube {

/// The failures that callers tell apart. Error::reason carries the name (fault_name), so that an
/// Error stays one type for the whole tree.
enum class ApiFault : unsigned char {
  kNotFound,       ///< 404
  kConflict,       ///< 409: resourceVersion, precondition or field ownership
  kAlreadyExists,  ///< 409 on a create
  kExpired,        ///< 410, or an in-stream ERROR of code 410: the resourceVersion is too old
  kFutureVersion,  ///< 504/500 "Too large resource version": the server lags behind us
  kThrottled,      ///< 429; Error::retry_after_ms is set
  kInvalid,        ///< 400 and 422: the object is refused; the message says which field
  kForbidden,      ///< 403; the message names verb and resource
  kUnauthorized,   ///< 401
  kTerminating,    ///< 403 or 409 because the namespace is being deleted
  kUnsupported,    ///< 405, 406, 415, 501: this server does not know the verb or option
  kServer,         ///< other 5xx; the write may have happened
  kUnreachable,    ///< no answer: refused, reset, TLS; the write may have happened when `sent`
  kTimeout,        ///< no answer within the deadline; the write may have happened
  kMalformed,      ///< an answer that is no JSON or lacks what it must have
  kCancelled,      ///< we gave up
  kNone,           ///< not an error of the API
};

std::string_view fault_name(ApiFault fault);

/// The error of an answer with status >= 400; reads the Status object if there is one.
Error api_error(const net::HttpResponse& response);
/// The error of an in-stream watch event of type ERROR, whose object is a Status.
Error api_error_of_status(const Json& status);
/// Turns a transport's failure into the same form.
Error api_error_of_transport(Error error);
/// Which fault an error stands for; kNone for errors from elsewhere.
ApiFault fault_of(const Error& error);
/// True when the write may have been committed although an error came back.
bool may_have_happened(const Error& error);

}  // namespace kantha::kube
