#include "noded/gateway/replayed_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/api/messages_answer.h"
#include "engine/api/ollama_answer.h"
#include "engine/api/responses_answer.h"

namespace kantha::noded {
namespace {

const std::vector<std::string> kWords = {"Once", " upon", " a", " 時", "間", "."};

struct Case {
  const char* name;
  ReplayFormat format;
  const api::AnswerApi* answers;
};

/// An engine's whole answer, in its own spelling; the words may come several at a time.
std::string answer(const Case& test, const std::string& id, std::int64_t created,
                   std::size_t words_at_once = 1) {
  api::AnswerPlan plan;
  plan.head.id = "chatcmpl-" + id;
  plan.head.created = created;
  plan.head.model = "m";
  const auto writer = test.answers->make_writer(std::move(plan));
  api::Usage usage;
  usage.prompt_tokens = 4;
  std::string out = writer->opening(0, usage);
  for (std::size_t i = 0; i < kWords.size(); i += words_at_once) {
    api::Delta delta;
    for (std::size_t k = i; k < std::min(i + words_at_once, kWords.size()); ++k) {
      delta.text += kWords[k];
    }
    out += writer->delta(delta);
  }
  usage.completion_tokens = 6;
  api::Ending ending;
  ending.reason = "stop";
  out += writer->finish(ending);
  return out + writer->end(usage, {});
}

class ReplayedStreamTest : public testing::TestWithParam<Case> {};

TEST_P(ReplayedStreamTest, OneEnginesBytesPassAsTheyAreHoweverTheyAreCut) {
  const std::string whole = answer(GetParam(), "first", 100);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    ReplayedStream stream(GetParam().format);
    EXPECT_EQ(stream.feed(whole.substr(0, cut)) + stream.feed(whole.substr(cut)), whole);
    EXPECT_TRUE(stream.finished());
  }
}

TEST_P(ReplayedStreamTest, WhereverTheFirstEngineEndsTheStreamIsThatOfOne) {
  const std::string whole = answer(GetParam(), "first", 100);
  const std::string again = answer(GetParam(), "second", 200);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    ReplayedStream stream(GetParam().format);
    std::string got = stream.feed(whole.substr(0, cut));
    if (got.empty()) continue;  // nothing was shown: any engine may be the first
    ASSERT_TRUE(stream.can_continue());
    if (stream.finished()) continue;
    stream.next_engine();
    got += stream.feed(again.substr(0, again.size() / 2));
    stream.next_engine();
    got += stream.feed(again);
    // An item that the first engine had not begun is the second one's, from its start to its end.
    const bool is_seconds = got.find("msg_first") == got.npos;
    for (std::size_t at = 0; is_seconds && (at = got.find("msg_second", at)) != got.npos;) {
      got.replace(at, 10, "msg_first");
    }
    ASSERT_EQ(got, whole) << "cut at " << cut;
    ASSERT_TRUE(stream.finished());
  }
}

TEST_P(ReplayedStreamTest, AnEngineThatGivesSeveralWordsAtOnceGivesTheRestOfThem) {
  const std::string whole = answer(GetParam(), "first", 100);
  const std::size_t cut = whole.find(" upon");
  ReplayedStream stream(GetParam().format);
  std::string got = stream.feed(whole.substr(0, cut));
  stream.next_engine();
  got += stream.feed(answer(GetParam(), "second", 200, 4));
  EXPECT_TRUE(stream.finished());
  EXPECT_FALSE(stream.differs());
  EXPECT_GE(stream.text_bytes(), 19U);
  EXPECT_EQ(got.find("second"), got.npos) << got;
  EXPECT_NE(got.find("\" upon a 時\""), got.npos) << got;
}

TEST_P(ReplayedStreamTest, AnotherTextIsNotPassedOn) {
  const std::string whole = answer(GetParam(), "first", 100);
  std::string other = answer(GetParam(), "second", 200);
  other.replace(other.find("Once"), 4, "Twice");
  ReplayedStream stream(GetParam().format);
  stream.feed(whole.substr(0, whole.find(" a\"")));
  stream.next_engine();
  EXPECT_EQ(stream.feed(other), "");
  EXPECT_TRUE(stream.differs());
  EXPECT_FALSE(stream.can_continue());
}

TEST_P(ReplayedStreamTest, WhatIsNotUnderstoodPassesAndEndsTheReplaying) {
  ReplayedStream stream(GetParam().format);
  const std::string bytes = "event: odd\ndata: {\"type\":\"odd\"}\n\nand more";
  EXPECT_EQ(stream.feed(bytes), bytes);
  EXPECT_FALSE(stream.can_continue());
}

INSTANTIATE_TEST_SUITE_P(
    Apis, ReplayedStreamTest,
    testing::Values(Case{"messages", ReplayFormat::kMessages, &api::kMessagesAnswers},
                    Case{"responses", ReplayFormat::kResponses, &api::kResponsesAnswers},
                    Case{"ollama", ReplayFormat::kOllama, &api::kOllamaChatAnswers},
                    Case{"generate", ReplayFormat::kOllama, &api::kOllamaGenerateAnswers}),
    [](const auto& info) { return info.param.name; });

/// A thought, a text and a call, as blocks of Anthropic's.
TEST(ReplayedStream, SeveralTextsAndCallsKeepTheirOrder) {
  const auto event = [](const std::string& type, const std::string& rest) {
    return "event: " + type + "\ndata: {\"type\":\"" + type + "\"" + rest + "}\n\n";
  };
  const auto delta = [&](int index, const std::string& name, const std::string& text) {
    return event("content_block_delta", ",\"index\":" + std::to_string(index) + ",\"delta\":{\"" +
                                            name + "\":\"" + text + "\"}");
  };
  std::string whole = event("message_start", "");
  int index = 0;
  for (const char* name : {"thinking", "text", "partial_json"}) {
    const std::string place = ",\"index\":" + std::to_string(index);
    whole += event("content_block_start", place);
    for (const char* word : {"a", "b", "a"}) whole += delta(index, name, word);
    whole += event("content_block_stop", place);
    ++index;
  }
  whole += event("message_delta", "") + event("message_stop", "");
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    ReplayedStream stream(ReplayFormat::kMessages);
    std::string got = stream.feed(whole.substr(0, cut));
    if (got.empty() || stream.finished()) continue;
    stream.next_engine();
    got += stream.feed(whole);
    ASSERT_EQ(got, whole) << "cut at " << cut;
  }
}

TEST(WithSeed, IsPutInWhereTheRequestNamesNone) {
  EXPECT_EQ(with_seed(R"({"a":1})", 7), R"({"a":1,"seed":7})");
  EXPECT_EQ(with_seed("{}", 7), R"({"seed":7})");
  EXPECT_EQ(with_seed(R"({"seed":null})", 7), R"({"seed":7})");
  EXPECT_EQ(with_seed(R"({"seed":9007199254740993})", 7), R"({"seed":9007199254740993})");
  EXPECT_EQ(with_seed("[]", 7), std::nullopt);
}

TEST(ReplayedStream, AnotherPodsDoorThatGivesUpIsHeardInEveryDialect) {
  const std::string body =
      R"({"error":{"message":"no engine","type":"service_unavailable_error","param":null,"code":)";
  for (const auto format :
       {ReplayFormat::kMessages, ReplayFormat::kResponses, ReplayFormat::kOllama}) {
    const bool lines = format == ReplayFormat::kOllama;
    for (const bool was_ended : {false, true}) {
      const std::string json = body + (was_ended ? R"("engine_was_ended"}})" : "null}}");
      ReplayedStream stream(format);
      EXPECT_EQ(stream.feed(lines ? json + "\n" : "data: " + json + "\n\n"), "");
      EXPECT_TRUE(stream.engine_gave_up());
      EXPECT_EQ(stream.engine_was_ended(), was_ended);
      EXPECT_TRUE(stream.can_continue());
    }
  }
}

TEST(ReplayedStream, AnOverloadedEngineGaveUpAndOtherErrorsAreTheAnswer) {
  const std::string busy =
      "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";
  ReplayedStream stream(ReplayFormat::kMessages);
  EXPECT_EQ(stream.feed(busy), "");
  EXPECT_TRUE(stream.engine_gave_up());
  ReplayedStream other(ReplayFormat::kMessages);
  const std::string wrong =
      "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\"}}\n\n";
  EXPECT_EQ(other.feed(wrong), wrong);
  EXPECT_TRUE(other.finished());
}

}  // namespace
}  // namespace kantha::noded
