#include "noded/models/answer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

using testing::HasSubstr;

FileAsk resumed() {
  return {.offset = 100, .note = {"here", "\"v1\"", "", 1000}, .source = "here"};
}

AnswerVerdict judge(const FileAsk& ask, int status, net::Headers headers) {
  return judge_answer(ask, status, headers);
}

TEST(AskHeaders, NameTheRangeAndTheValidator) {
  const net::Headers first = ask_headers({.source = "here"});
  EXPECT_FALSE(first.find("range"));
  EXPECT_EQ(first.find("accept-encoding"), "identity");
  FileAsk ask = resumed();
  EXPECT_EQ(ask_headers(ask).find("range"), "bytes=100-");
  EXPECT_EQ(ask_headers(ask).find("if-range"), "\"v1\"");
  ask.note.etag = "W/\"v1\"";
  ask.note.last_modified = "Sun, 01 Nov 2026 00:00:00 GMT";
  EXPECT_EQ(ask_headers(ask).find("if-range"), ask.note.last_modified);
  ask.source = "elsewhere";
  EXPECT_FALSE(ask_headers(ask).find("if-range"));
}

TEST(JudgeAnswer, GoesOnWhereTheFileIsTheSame) {
  const AnswerVerdict out =
      judge(resumed(), 206, {{"Content-Range", "bytes 100-999/1000"}, {"ETag", "\"v1\""}});
  EXPECT_EQ(out.kind, AnswerKind::kAppend) << out.why;
  EXPECT_EQ(out.note.total, 1000);
  EXPECT_EQ(out.note.etag, "\"v1\"");
}

TEST(JudgeAnswer, NeverPutsTwoFilesTogether) {
  struct Case {
    const char* what;
    net::Headers headers;
  };
  const std::vector<Case> cases = {
      {"other size", {{"Content-Range", "bytes 100-1999/2000"}, {"ETag", "\"v1\""}}},
      {"other etag", {{"Content-Range", "bytes 100-999/1000"}, {"ETag", "\"v2\""}}},
      {"other offset", {{"Content-Range", "bytes 0-999/1000"}, {"ETag", "\"v1\""}}},
      {"no range", {{"ETag", "\"v1\""}}},
      {"malformed", {{"Content-Range", "bytes 100-/1000"}}},
      {"backwards", {{"Content-Range", "bytes 100-50/1000"}}},
      {"beyond the end", {{"Content-Range", "bytes 100-1000/1000"}}},
      {"negative", {{"Content-Range", "bytes -5-999/1000"}}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(judge(resumed(), 206, c.headers).kind, AnswerKind::kAskAnew) << c.what;
  }
  EXPECT_EQ(judge({.source = "here"}, 206, {{"Content-Range", "bytes 0-9/10"}}).kind,
            AnswerKind::kAskAnew)
      << "a range that nobody asked for";
}

TEST(JudgeAnswer, ComparesValidatorsOfOneAddressOnly) {
  FileAsk ask = resumed();
  ask.source = "a mirror";
  EXPECT_EQ(judge(ask, 206, {{"Content-Range", "bytes 100-999/1000"}, {"ETag", "\"m\""}}).kind,
            AnswerKind::kAppend);
  EXPECT_EQ(judge(ask, 206, {{"Content-Range", "bytes 100-1999/2000"}}).kind, AnswerKind::kAskAnew);
}

TEST(JudgeAnswer, StartsOverWhenTheWholeFileComes) {
  const AnswerVerdict out = judge(resumed(), 200, {{"Content-Length", "1200"}});
  EXPECT_EQ(out.kind, AnswerKind::kStartOver);
  EXPECT_EQ(out.note.total, 1200);
  EXPECT_EQ(judge(resumed(), 200, {}).note.total, -1);
  EXPECT_EQ(judge(resumed(), 200, {{"Content-Length", "-4"}}).note.total, -1);
}

TEST(JudgeAnswer, KnowsWhenNothingIsLeft) {
  FileAsk ask = resumed();
  ask.offset = 1000;
  const AnswerVerdict out = judge(ask, 416, {{"Content-Range", "bytes */1000"}});
  EXPECT_EQ(out.kind, AnswerKind::kWholeThere);
  EXPECT_EQ(out.note.total, 1000);
  EXPECT_EQ(judge(ask, 416, {{"Content-Range", "bytes */900"}}).kind, AnswerKind::kAskAnew);
  EXPECT_EQ(judge(ask, 416, {}).kind, AnswerKind::kAskAnew);
  EXPECT_EQ(judge({}, 416, {}).kind, AnswerKind::kRefuse);
}

TEST(JudgeAnswer, TellsFinalFailuresFromPassingOnes) {
  for (const int status : {400, 401, 403, 404, 410, 451}) {
    const AnswerVerdict out = judge({}, status, {});
    EXPECT_EQ(out.kind, AnswerKind::kRefuse) << status;
    EXPECT_THAT(out.why, HasSubstr(std::to_string(status)));
  }
  for (const int status : {408, 425, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(judge({}, status, {}).kind, AnswerKind::kRetry) << status;
  }
  EXPECT_EQ(judge({}, 503, {{"Retry-After", "7"}}).retry_after, std::chrono::seconds(7));
  EXPECT_EQ(judge({}, 503, {{"Retry-After", "999999999"}}).retry_after, std::chrono::hours(1));
  EXPECT_EQ(judge({}, 503, {{"Retry-After", "soon"}}).retry_after, Duration::zero());
}

TEST(JudgeAnswer, FollowsRedirectsThatSayWhere) {
  EXPECT_EQ(judge({}, 302, {{"Location", "/x"}}).location, "/x");
  EXPECT_EQ(judge({}, 308, {{"Location", "/x"}}).kind, AnswerKind::kRedirect);
  EXPECT_EQ(judge({}, 302, {}).kind, AnswerKind::kRetry);
  EXPECT_EQ(judge({}, 304, {{"Location", "/x"}}).kind, AnswerKind::kRetry);
}

TEST(JudgeAnswer, RefusesWhatIsNotTheFile) {
  EXPECT_THAT(judge({}, 200, {{"Content-Type", "Text/HTML; charset=utf-8"}}).why,
              HasSubstr("HTML page"));
  EXPECT_THAT(judge({}, 200, {{"Content-Encoding", "gzip"}}).why, HasSubstr("compressed"));
  FileAsk ask;
  ask.expected_bytes = 1000;
  const AnswerVerdict out = judge(ask, 200, {{"Content-Length", "999"}});
  EXPECT_EQ(out.kind, AnswerKind::kRefuse);
  EXPECT_EQ(out.why, "wrong size: expected 1000 bytes, the server has 999");
}

}  // namespace
}  // namespace kantha::noded
