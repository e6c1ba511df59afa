#include "noded/gateway/door_dialect.h"

#include <gtest/gtest.h>

#include <tuple>

#include "noded/gateway/door_error.h"

namespace kantha::noded {
namespace {

TEST(DoorDialect, IsByThePath) {
  const auto kMessages = DoorDialect::kMessages;
  EXPECT_EQ(dialect_of("/v1/messages"), kMessages);
  EXPECT_EQ(dialect_of("/v1/messages?beta=true"), kMessages);
  EXPECT_EQ(dialect_of("/v1/messages/count_tokens"), kMessages);
  EXPECT_EQ(dialect_of("/api/chat"), DoorDialect::kOllama);
  for (const char* path : {"/v1/messagesX", "/v1/responses", "/v1/chat/completions", "/api", "/"}) {
    EXPECT_EQ(dialect_of(path), DoorDialect::kOpenAi) << path;
  }
}

TEST(DoorDialect, RefusalsKeepStatusHeadersAndWords) {
  const net::HttpResponse ours = door_error(429, "too many \"requests\"", 3);
  const auto messages = in_dialect(DoorDialect::kMessages, ours);
  EXPECT_EQ(messages.status, 429);
  EXPECT_EQ(messages.headers.find("Retry-After"), "3");
  EXPECT_EQ(
      messages.body,
      R"({"type":"error","error":{"type":"rate_limit_error","message":"too many \"requests\""}})");
  const auto late = in_dialect(DoorDialect::kMessages, door_error(504, "late"));
  EXPECT_NE(late.body.find("\"timeout_error\""), std::string::npos) << late.body;
  EXPECT_EQ(in_dialect(DoorDialect::kOllama, ours).body, R"({"error":"too many \"requests\""})");
  EXPECT_EQ(in_dialect(DoorDialect::kOpenAi, ours).body, ours.body);
}

TEST(DoorDialect, LeavesWhatIsNoErrorObject) {
  for (const char* body : {"{\"error\":\"x\"}", "", "[1]", "{\"error\":{\"message\":3}}"}) {
    const auto same =
        in_dialect(DoorDialect::kOllama, {.status = 400, .headers = {}, .body = body});
    EXPECT_EQ(same.body, body);
  }
}

TEST(DoorDialect, ABrokenStreamEndsWithAnEventOfItsOwn) {
  EXPECT_EQ(broken_stream_end(DoorDialect::kMessages, "gone", 'x'),
            "\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\","
            "\"message\":\"gone\"}}\n\n");
  EXPECT_EQ(broken_stream_end(DoorDialect::kOllama, "gone", 'x'), "\n{\"error\":\"gone\"}\n");
  EXPECT_EQ(broken_stream_end(DoorDialect::kOllama, "gone", '\n'), "{\"error\":\"gone\"}\n");
}

TEST(DoorDialect, CountsEventsHoweverTheyAreCut) {
  for (const auto& [dialect, text, count] :
       {std::tuple{DoorDialect::kMessages, "event: a\ndata: 1\n\ndata: 2\n\nda", 2},
        std::tuple{DoorDialect::kOllama, "{\"a\":1}\n{}\n{", 2}}) {
    const std::string_view all = text;
    for (std::size_t cut = 0; cut <= all.size(); ++cut) {
      char last = ' ';
      const auto first = count_stream_events(dialect, all.substr(0, cut), last);
      EXPECT_EQ(first + count_stream_events(dialect, all.substr(cut), last), count) << cut;
    }
  }
}

}  // namespace
}  // namespace kantha::noded
