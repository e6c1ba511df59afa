#include <vector>

#include "engine/api/openai_error.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace kantha::api {
namespace {

struct StatusCase {
  const char* name;
  Error error;
  int status;
  const char* type;
};

Error with_reason(Error error, const char* reason) {
  error.reason = reason;
  return error;
}

const std::vector<StatusCase>& status_cases() {
  static const std::vector<StatusCase> cases{
      {"invalid", invalid_argument("x"), 400, "invalid_request_error"},
      {"unimplemented", unimplemented("x"), 400, "invalid_request_error"},
      {"out of range", {Code::kOutOfRange, "x"}, 400, "invalid_request_error"},
      {"too large", with_reason({Code::kOutOfRange, "x"}, kReasonTooLarge), 413,
       "invalid_request_error"},
      {"unauthenticated", {Code::kUnauthenticated, "x"}, 401, "authentication_error"},
      {"denied", {Code::kPermissionDenied, "x"}, 403, "permission_error"},
      {"not found", not_found("x"), 404, "invalid_request_error"},
      {"wrong method", with_reason({Code::kInvalidArgument, "x"}, kReasonMethodNotAllowed), 405,
       "invalid_request_error"},
      {"exists", {Code::kAlreadyExists, "x"}, 409, "invalid_request_error"},
      {"conflict", {Code::kConflict, "x"}, 409, "invalid_request_error"},
      {"precondition", {Code::kFailedPrecondition, "x"}, 409, "invalid_request_error"},
      {"exhausted", {Code::kResourceExhausted, "x"}, 429, "rate_limit_error"},
      {"unavailable", unavailable("x"), 503, "service_unavailable_error"},
      {"deadline", {Code::kDeadlineExceeded, "x"}, 504, "timeout_error"},
      {"data loss", data_loss("x"), 500, "server_error"},
      {"internal", internal_error("x"), 500, "server_error"},
  };
  return cases;
}

TEST(OpenaiError, EveryCodeHasItsStatusTypeAndTheFourKeys) {
  for (const StatusCase& c : status_cases()) {
    SCOPED_TRACE(c.name);
    const HttpError answer = to_http_error(c.error);
    EXPECT_EQ(answer.status, c.status);
    const Json body = Json::parse(answer.body);
    const Json& error = body.at("error");
    EXPECT_EQ(error.size(), 4u);
    EXPECT_EQ(error.at("message"), "x");
    EXPECT_EQ(error.at("type"), c.type);
    EXPECT_TRUE(error.contains("param"));
    EXPECT_TRUE(error.contains("code"));
  }
}

TEST(OpenaiError, FieldBecomesParamAndReasonBecomesCode) {
  Error error = invalid_argument("prompt: too long", "prompt");
  error.reason = kReasonContextLength;
  const Json body = Json::parse(error_body(error));
  EXPECT_EQ(body["error"]["param"], "prompt");
  EXPECT_EQ(body["error"]["code"], "context_length_exceeded");
}

TEST(OpenaiError, ParamAndCodeAreNullWhenNothingIsKnown) {
  const Json body = Json::parse(error_body(invalid_argument("x")));
  EXPECT_TRUE(body["error"]["param"].is_null());
  EXPECT_TRUE(body["error"]["code"].is_null());
}

TEST(OpenaiError, RetryAfterIsWholeSecondsRoundedUpOnRefusalsOnly) {
  Error error{Code::kResourceExhausted, "full"};
  EXPECT_EQ(to_http_error(error).retry_after_s, 1);
  error.retry_after_ms = 2001;
  EXPECT_EQ(to_http_error(error).retry_after_s, 3);
  error.code = Code::kUnavailable;
  EXPECT_EQ(to_http_error(error).retry_after_s, 3);
  error.code = Code::kInternal;
  EXPECT_EQ(to_http_error(error).retry_after_s, 0);
}

TEST(OpenaiError, InvalidUtf8InAMessageStaysValidJson) {
  const std::string body = error_body(invalid_argument("bad \xff byte"));
  EXPECT_TRUE(Json::accept(body));
}

}  // namespace
}  // namespace kantha::api
