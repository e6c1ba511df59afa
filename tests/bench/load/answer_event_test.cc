#include "bench/load/answer_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kantha::bench {
namespace {

using testing::HasSubstr;

AnswerEvent event(const char* payload) {
  const Result<AnswerEvent> read = read_event(payload);
  EXPECT_TRUE(read.ok()) << payload;
  return read.ok() ? *read : AnswerEvent{};
}

TEST(ReadEvent, TextAndReasoningAreContentAndTheRoleIsNot) {
  EXPECT_TRUE(event(R"({"choices":[{"delta":{"content":"a"}}]})").has_content);
  EXPECT_TRUE(event(R"({"choices":[{"text":" b"}]})").has_content);
  EXPECT_TRUE(event(R"({"choices":[{"delta":{"reasoning_content":"a"}}]})").has_content);
  EXPECT_TRUE(event(R"({"choices":[{"delta":{"reasoning":"a"}}]})").has_content);
  EXPECT_TRUE(event(R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})").has_content);
  EXPECT_FALSE(event(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})").has_content);
  EXPECT_FALSE(event(R"({"choices":[{"delta":{"content":null}}]})").has_content);
  EXPECT_FALSE(event(R"({"choices":[]})").has_content);
}

TEST(ReadEvent, KnowsTheEnds) {
  EXPECT_TRUE(event("[DONE]").is_end_mark);
  const AnswerEvent end = event(R"({"choices":[{"delta":{},"finish_reason":"length"}]})");
  EXPECT_TRUE(end.is_finish);
  EXPECT_FALSE(end.has_content);
  EXPECT_FALSE(event(R"({"choices":[{"delta":{},"finish_reason":null}]})").is_finish);
}

TEST(ReadEvent, ReadsUsageAndTakesNonsenseAsNone) {
  const AnswerEvent told = event(
      R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}})");
  ASSERT_TRUE(told.usage.has_value());
  EXPECT_EQ(told.usage->prompt_tokens, 5);
  EXPECT_EQ(told.usage->output_tokens, 7);
  EXPECT_EQ(told.usage->cached_tokens, 4);
  for (const char* payload :
       {R"({"usage":null})", R"({"usage":{}})", R"({"usage":{"prompt_tokens":5}})",
        R"({"usage":{"prompt_tokens":-5,"completion_tokens":7}})",
        R"({"usage":{"prompt_tokens":5,"completion_tokens":"7"}})",
        R"({"usage":{"prompt_tokens":5,"completion_tokens":18446744073709551615}})",
        R"({"usage":{"prompt_tokens":5,"completion_tokens":1e300}})", R"({"usage":[1]})"}) {
    EXPECT_FALSE(event(payload).usage.has_value()) << payload;
  }
}

TEST(ReadEvent, GivesTheMessageOfAnError) {
  EXPECT_EQ(event(R"({"error":{"message":"out of\nmemory"}})").error, "out of memory");
  EXPECT_EQ(event(R"({"error":"no"})").error, "no");
  EXPECT_EQ(event(R"({"error":{"code":3}})").error, R"({"code":3})");
}

TEST(ReadEvent, RefusesWhatIsNoObject) {
  for (const char* payload : {"", "hello", "[1]", "3", "{\"choices\":"}) {
    const Result<AnswerEvent> read = read_event(payload);
    ASSERT_FALSE(read.ok()) << payload;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
  }
}

TEST(ReadEvent, SurvivesChoicesOfAnyShape) {
  for (const char* payload :
       {R"({"choices":5})", R"({"choices":[5]})", R"({"choices":[{"delta":5}]})",
        R"({"choices":[{"delta":{"content":5}}]})", R"({"choices":[{"text":[]}]})"}) {
    EXPECT_FALSE(event(payload).has_content) << payload;
  }
}

TEST(ReadWhole, ReadsChatAndTextAnswers) {
  const auto chat = read_whole(
      R"({"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})");
  ASSERT_TRUE(chat.ok());
  EXPECT_TRUE(chat->has_content);
  EXPECT_EQ(chat->usage->output_tokens, 2);
  EXPECT_TRUE(read_whole(R"({"choices":[{"text":"hi"}]})").ok());
  EXPECT_EQ(read_whole(R"({"error":"x"})")->error, "x");
}

TEST(ReadWhole, RefusesWhatIsNoAnswer) {
  for (const char* body : {"", "<html>", "{}", R"({"choices":[]})", R"({"choices":[{}]})"}) {
    EXPECT_FALSE(read_whole(body).ok()) << body;
  }
}

TEST(ErrorLine, IsOneShortLine) {
  EXPECT_EQ(error_line(R"({"error":{"message":"too long"}})"), "too long");
  EXPECT_EQ(error_line(""), "an empty body");
  const std::string line = error_line("<html>\n\x1b[31m" + std::string(5000, 'x'));
  EXPECT_LE(line.size(), 210U);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_THAT(line, HasSubstr("<html>"));
}

}  // namespace
}  // namespace kantha::bench
