#include "operator/kube/api_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kantha::kube {
namespace {

using testing::HasSubstr;

std::string status_body(int code, const std::string& reason, const std::string& message,
                        const std::string& details = "{}") {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":)" + std::to_string(code) +
         R"(,"reason":")" + reason + R"(","message":")" + message + R"(","details":)" + details +
         "}";
}

TEST(ApiFault, IsToldByStatusReasonAndCauses) {
  const struct {
    const char* name;
    int status;
    std::string body;
    ApiFault fault;
    Code code;
  } cases[] = {
      {"a missing object", 404, status_body(404, "NotFound", "pods \\\"a\\\" not found"),
       ApiFault::kNotFound, Code::kNotFound},
      {"a path that no server knows", 404, "404 page not found", ApiFault::kNotFound,
       Code::kNotFound},
      {"a name that is taken", 409, status_body(409, "AlreadyExists", "exists"),
       ApiFault::kAlreadyExists, Code::kAlreadyExists},
      {"an old resourceVersion", 409, status_body(409, "Conflict", "modified"), ApiFault::kConflict,
       Code::kConflict},
      {"a conflict without a body", 409, "", ApiFault::kConflict, Code::kConflict},
      {"a watch window that has passed", 410, status_body(410, "Gone", "too old"),
       ApiFault::kExpired, Code::kFailedPrecondition},
      {"a continue token that has expired", 410, status_body(410, "Expired", "token"),
       ApiFault::kExpired, Code::kFailedPrecondition},
      {"a version from the future, by its cause", 504,
       status_body(504, "Timeout", "x", R"({"causes":[{"reason":"ResourceVersionTooLarge"}]})"),
       ApiFault::kFutureVersion, Code::kUnavailable},
      {"a version from the future, by its words", 500,
       status_body(500, "", "Too large resource version: 9, current: 8"), ApiFault::kFutureVersion,
       Code::kUnavailable},
      {"a namespace that is ending, by its cause", 403,
       status_body(403, "Forbidden", "x", R"({"causes":[{"reason":"NamespaceTerminating"}]})"),
       ApiFault::kTerminating, Code::kFailedPrecondition},
      {"a namespace that is ending, by its words", 403,
       status_body(403, "Forbidden", "new content in namespace n because it is being terminated"),
       ApiFault::kTerminating, Code::kFailedPrecondition},
      {"a verb that is not granted", 403, status_body(403, "Forbidden", "cannot list pods"),
       ApiFault::kForbidden, Code::kPermissionDenied},
      {"a bad token", 401, status_body(401, "Unauthorized", "Unauthorized"),
       ApiFault::kUnauthorized, Code::kUnauthenticated},
      {"an object that breaks a rule", 422,
       status_body(422, "Invalid", "x", R"({"causes":[{"field":"spec.replicas"}]})"),
       ApiFault::kInvalid, Code::kInvalidArgument},
      {"a body that is too large", 413, "", ApiFault::kInvalid, Code::kInvalidArgument},
      {"a verb unknown to this server", 405, "", ApiFault::kUnsupported, Code::kUnimplemented},
      {"a patch type unknown to this server", 415, "", ApiFault::kUnsupported,
       Code::kUnimplemented},
      {"too many requests", 429, "", ApiFault::kThrottled, Code::kResourceExhausted},
      {"etcd is away", 500, status_body(500, "InternalError", "etcdserver: no leader"),
       ApiFault::kServer, Code::kInternal},
      {"a proxy's page", 502, "<html>\nBad Gateway</html>", ApiFault::kServer, Code::kInternal},
      {"a redirect", 302, "", ApiFault::kMalformed, Code::kDataLoss},
      {"a Status of wrong types", 404, R"({"kind":"Status","code":"x","details":[],"reason":7})",
       ApiFault::kNotFound, Code::kNotFound},
      {"causes of wrong types", 422,
       R"({"kind":"Status","details":{"causes":[7,{"field":1}],"retryAfterSeconds":"x"}})",
       ApiFault::kInvalid, Code::kInvalidArgument},
  };
  for (const auto& each : cases) {
    const Error error = api_error({.status = each.status, .headers = {}, .body = each.body});
    EXPECT_EQ(fault_of(error), each.fault) << each.name << ": " << error.reason;
    EXPECT_EQ(error.code, each.code) << each.name;
    EXPECT_FALSE(error.message.empty()) << each.name;
  }
}

TEST(ApiFault, NamesTheFieldAndKeepsTheServersWords) {
  const Error error = api_error(
      {.status = 422,
       .headers = {},
       .body = status_body(422, "Invalid", "ModelServing \\\"a\\\" is invalid: spec.replicas: no",
                           R"({"causes":[{"field":"spec.replicas"},{"field":"spec.model"}]})")});
  EXPECT_EQ(error.field, "spec.replicas");
  EXPECT_THAT(error.message, HasSubstr("\"a\" is invalid"));
}

TEST(ApiFault, BodiesThatAreNoStatusAreShownShortAndClean) {
  const Error error =
      api_error({.status = 502, .headers = {}, .body = "a\x1b[31m\n" + std::string(5000, 'x')});
  EXPECT_THAT(error.message, HasSubstr("HTTP 502 Bad Gateway: a [31m xxx"));
  EXPECT_LT(error.message.size(), 300u);
}

TEST(ApiFault, RetryAfterComesFromHeaderOrDetails) {
  const struct {
    const char* name;
    int status;
    net::Headers headers;
    std::string body;
    std::int64_t ms;
  } cases[] = {
      {"header", 429, {{"Retry-After", "7"}}, "", 7000},
      {"details", 429, {}, status_body(429, "", "", R"({"retryAfterSeconds":3})"), 3000},
      {"header wins",
       429,
       {{"Retry-After", "7"}},
       status_body(429, "", "", R"({"retryAfterSeconds":3})"),
       7000},
      {"neither", 429, {}, "", 1000},
      {"a date is not understood",
       429,
       {{"Retry-After", "Mon, 30 Nov 2026 00:00:00 GMT"}},
       "",
       1000},
      {"negative", 429, {{"Retry-After", "-5"}}, "", 1000},
      {"a year is cut to an hour", 429, {{"Retry-After", "31536000"}}, "", 3600000},
      {"a server that is overloaded", 503, {{"Retry-After", "2"}}, "", 2000},
      {"nothing for others", 404, {}, "", 0},
  };
  for (const auto& each : cases) {
    const Error error =
        api_error({.status = each.status, .headers = each.headers, .body = each.body});
    EXPECT_EQ(error.retry_after_ms, each.ms) << each.name;
  }
}

TEST(ApiFault, ReadsInStreamErrors) {
  const Json gone = parse_json(status_body(410, "Expired", "too old resource version")).value();
  EXPECT_EQ(fault_of(api_error_of_status(gone)), ApiFault::kExpired);
  EXPECT_EQ(fault_of(api_error_of_status(Json::object())), ApiFault::kMalformed);
  EXPECT_EQ(fault_of(api_error_of_status(Json(7))), ApiFault::kMalformed);
  EXPECT_EQ(fault_of(api_error_of_status({{"code", 500}})), ApiFault::kServer);
}

TEST(ApiFault, TransportFailuresAndWhetherTheWriteMayHaveHappened) {
  const struct {
    Code code;
    ApiFault fault;
    bool may_have_happened;
  } cases[] = {
      {Code::kUnavailable, ApiFault::kUnreachable, false},
      {Code::kDataLoss, ApiFault::kUnreachable, true},
      {Code::kDeadlineExceeded, ApiFault::kTimeout, true},
      {Code::kOutOfRange, ApiFault::kMalformed, true},
      {Code::kCancelled, ApiFault::kCancelled, true},
      {Code::kInvalidArgument, ApiFault::kInvalid, false},
  };
  for (const auto& each : cases) {
    const Error error = api_error_of_transport({each.code, "x"});
    EXPECT_EQ(fault_of(error), each.fault);
    EXPECT_EQ(error.code, each.code);
    EXPECT_EQ(may_have_happened(error), each.may_have_happened) << code_name(each.code);
  }
  EXPECT_TRUE(may_have_happened(api_error({.status = 500})));
  EXPECT_FALSE(may_have_happened(api_error({.status = 409})));
  EXPECT_FALSE(may_have_happened(api_error({.status = 429})));
}

TEST(ApiFault, OtherErrorsAreNoFaults) {
  EXPECT_EQ(fault_of(unavailable("x")), ApiFault::kNone);
  EXPECT_EQ(fault_of({Code::kInternal, "x", {}, "SomethingElse"}), ApiFault::kNone);
  EXPECT_EQ(fault_name(ApiFault::kNone), "");
}

}  // namespace
}  // namespace kantha::kube
