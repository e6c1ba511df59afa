#include "base/net/message_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kantha::net {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MessageHead, SpellsAnAnswer) {
  const Headers headers = {{"X-A", "b"}, {"connection", "upgrade"}, {"Content-Length", "999"}};
  EXPECT_EQ(render_answer_head(404, headers, {.content_length = 5, .now = {}}),
            "HTTP/1.1 404 Not Found\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nX-A: b\r\n"
            "Content-Length: 5\r\n\r\n");
}

TEST(MessageHead, SpellsEachFraming) {
  EXPECT_THAT(render_answer_head(200, {}, {.body = BodyFraming::kChunked}),
              HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(render_answer_head(204, {}, {}), Not(HasSubstr("Content-Length")));
  EXPECT_THAT(render_answer_head(200, {}, {.keep_alive = false}),
              HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(render_chunk(std::string(26, 'a')), "1a\r\n" + std::string(26, 'a') + "\r\n");
}

TEST(MessageHead, SpellsARequest) {
  const Endpoint endpoint = {.host = "::1", .port = 80};
  EXPECT_EQ(*render_request({.method = "POST", .target = "/a", .headers = {{"A", "b"}}}, endpoint),
            "POST /a HTTP/1.1\r\nHost: [::1]:80\r\nA: b\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(*render_request({.headers = {{"Host", "h"}, {"Content-Length", "9"}}}, endpoint),
            "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

TEST(MessageHead, SpellsErrorsAsOpenAiDoes) {
  EXPECT_EQ(error_answer(400, "a \"b\"").body,
            R"({"error":{"message":"a \"b\"","type":"invalid_request_error","param":null,)"
            R"("code":null}})");
  EXPECT_THAT(error_answer(503, "x").body, HasSubstr("server_error"));
  EXPECT_THAT(error_answer(400, "bad \xff byte").body, HasSubstr("bad \xEF\xBF\xBD byte"));
}

}  // namespace
}  // namespace kantha::net
