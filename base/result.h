#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

/// Errors that the world can cause, as values.
///
/// A function that can fail because of input, files, peers or limits returns Status or Result<T>.
/// Context is added on the way up (`with_context`), logged once where it is handled, and mapped to
/// an HTTP status, a condition or an exit line at the program's edge. Bugs are CHECKs, not Errors.
/// The header is plain C++20, so that nvcc can read it.
namespace kantha {

/// What kind of failure it is. The list is that of gRPC and absl, which readers know.
enum class Code : std::uint8_t {
  kInvalidArgument,     ///< the caller's input is wrong; retrying the same call cannot help (400)
  kUnauthenticated,     ///< no or wrong credentials (401)
  kPermissionDenied,    ///< known caller, not allowed (403)
  kNotFound,            ///< 404
  kAlreadyExists,       ///< 409
  kConflict,            ///< somebody else wrote first (409)
  kOutOfRange,          ///< beyond a limit that is named in the message (400 or 413)
  kResourceExhausted,   ///< a bound is reached now; retry_after says when to come back (429)
  kFailedPrecondition,  ///< the system is not in the state that the call needs
  kUnavailable,         ///< the other side is not there; retry may help (503)
  kDeadlineExceeded,    ///< 504
  kCancelled,           ///< the caller gave up
  kDataLoss,            ///< content is damaged: checksum, truncation
  kUnimplemented,       ///< known thing that we do not do, named in the message
  kInternal,            ///< the rest
};

/// Spells a code as in "invalid_argument"; stable, used in logs and metrics.
std::string_view code_name(Code code);

/// One failure: kind, sentence, and optionally the field at fault and when to retry.
struct [[nodiscard]] Error {
  Code code = Code::kInternal;
  std::string message;
  /// Path of the offending field, as in "messages[0].content" or "spec.replicas"; may be empty.
  std::string field = {};
  /// Machine-readable detail, as in OpenAI's "context_length_exceeded"; may be empty.
  std::string reason = {};
  /// Milliseconds after which a retry makes sense; 0 when unknown.
  std::int64_t retry_after_ms = 0;

  /// The same error with "context: " before its message.
  Error with_context(std::string_view context) &&;
  /// "invalid_argument: message (field)" for logs and terminals.
  std::string to_string() const;
};

inline Error invalid_argument(std::string message, std::string field = {}) {
  return {Code::kInvalidArgument, std::move(message), std::move(field)};
}
inline Error not_found(std::string message) { return {Code::kNotFound, std::move(message)}; }
inline Error unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }
inline Error internal_error(std::string message) { return {Code::kInternal, std::move(message)}; }
inline Error data_loss(std::string message) { return {Code::kDataLoss, std::move(message)}; }
inline Error unimplemented(std::string message, std::string field = {}) {
  return {Code::kUnimplemented, std::move(message), std::move(field)};
}

/// Success or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    CHECK(error_.has_value(), "error() of a success");
    return *error_;
  }
  Error&& error() && {
    CHECK(error_.has_value(), "error() of a success");
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

/// The one success value of Status, for readable returns.
inline Status ok_status() { return {}; }

/// A T or an Error. Taking the value of a failure is a bug and ends the process.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& value() & {
    CHECK(value_.has_value(), error_.message.c_str());
    return *value_;
  }
  const T& value() const& {
    CHECK(value_.has_value(), error_.message.c_str());
    return *value_;
  }
  T&& value() && {
    CHECK(value_.has_value(), error_.message.c_str());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& {
    CHECK(!value_.has_value(), "error() of a success");
    return error_;
  }
  Error&& error() && {
    CHECK(!value_.has_value(), "error() of a success");
    return std::move(error_);
  }

 private:
  std::optional<T> value_;
  Error error_;
};

}  // namespace kantha

#define KANTHA_CAT_(a, b) a##b
#define KANTHA_CAT(a, b) KANTHA_CAT_(a, b)
#define KANTHA_TRY_(temporary, keyword, declaration, expression) \
  auto temporary = (expression);                                 \
  if (!temporary.ok()) keyword std::move(temporary).error();     \
  declaration = std::move(temporary).value()
#define KANTHA_TRY_OK_(temporary, keyword, expression) \
  if (auto temporary = (expression); !temporary.ok()) keyword std::move(temporary).error()

/// TRY(auto x, f()) gives x the value of a Result or returns its error. CO_TRY: in coroutines.
#define TRY(declaration, ...) \
  KANTHA_TRY_(KANTHA_CAT(try_result_, __LINE__), return, declaration, (__VA_ARGS__))
#define CO_TRY(declaration, ...) \
  KANTHA_TRY_(KANTHA_CAT(try_result_, __LINE__), co_return, declaration, (__VA_ARGS__))
/// TRY_OK(f()) returns the error of a Status, if it is one. CO_TRY_OK: in coroutines.
#define TRY_OK(...) KANTHA_TRY_OK_(KANTHA_CAT(try_status_, __LINE__), return, (__VA_ARGS__))
#define CO_TRY_OK(...) KANTHA_TRY_OK_(KANTHA_CAT(try_status_, __LINE__), co_return, (__VA_ARGS__))
