#include "noded/gateway/request_trace.h"

#include <gtest/gtest.h>

#include <set>

namespace kantha::noded {
namespace {

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kParent = "00f067aa0ba902b7";

std::string traceparent(const std::string& version = "00", const std::string& rest = "") {
  return version + "-" + kTrace + "-" + kParent + "-01" + rest;
}

TEST(TraceParent, WhatTheRecommendationAllows) {
  const auto parent = parse_traceparent(traceparent());
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->trace_id, kTrace);
  EXPECT_EQ(parent->parent_id, kParent);
  EXPECT_EQ(parent->flags, "01");
  EXPECT_TRUE(parse_traceparent(traceparent("cc", "-what-the-future-brings")).has_value());
  EXPECT_TRUE(parse_traceparent(traceparent("01")).has_value());
}

TEST(TraceParent, WhatItCallsInvalid) {
  const std::string zeros(32, '0');
  for (const std::string& text :
       {std::string(), std::string("00"), traceparent("ff"), traceparent("0g"),
        traceparent("00", "-more"), traceparent("00", "-"), traceparent("cc", "x"),
        traceparent("00").substr(0, 54), " " + traceparent(), "00-" + zeros + "-" + kParent + "-01",
        std::string("00-") + kTrace + "-0000000000000000-01",
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-") + kParent + "-01",
        std::string("00-") + kTrace + "-" + kParent + "-0x",
        std::string("00_") + kTrace + "-" + kParent + "-01"}) {
    EXPECT_FALSE(parse_traceparent(text).has_value()) << text;
  }
}

TEST(TraceIds, ASaneIdIsKeptAndAnythingElseReplaced) {
  TraceIds ids(7);
  net::Headers headers = {{"X-Request-Id", "client-1:a.b_c"}};
  EXPECT_EQ(ids.begin(headers).request_id, "client-1:a.b_c");
  std::set<std::string> made;
  const std::string longest(128, 'x');
  net::Headers long_one = {{"x-request-id", longest}};
  EXPECT_EQ(ids.begin(long_one).request_id, longest);
  for (const std::string& given : {std::string(""), std::string("a b"), std::string("a\"b"),
                                   std::string("é"), std::string("{}"), longest + "x"}) {
    net::Headers one = {{"x-request-id", given}};
    const std::string id = ids.begin(one).request_id;
    EXPECT_EQ(id.size(), 36U) << given;
    EXPECT_EQ(one.find("x-request-id"), id);
    made.insert(id);
  }
  net::Headers twice = {{"x-request-id", "a"}, {"x-request-id", "b"}};
  made.insert(ids.begin(twice).request_id);
  net::Headers none;
  made.insert(ids.begin(none).request_id);
  EXPECT_EQ(made.size(), 8U) << "each is another one";
}

TEST(TraceIds, ATraceGoesOnWithThisDoorAsParent) {
  TraceIds ids(7);
  net::Headers headers = {{"traceparent", traceparent()}, {"tracestate", "a=1"}};
  const RequestTrace trace = ids.begin(headers);
  ASSERT_TRUE(trace.parent.has_value());
  EXPECT_EQ(trace.span_id.size(), 16U);
  EXPECT_NE(trace.span_id, kParent);
  EXPECT_EQ(headers.find("traceparent"), std::string("00-") + kTrace + "-" + trace.span_id + "-01");
  EXPECT_EQ(headers.find("tracestate"), "a=1");
}

TEST(TraceIds, ATraceThatIsNotValidEndsHere) {
  TraceIds ids(7);
  for (const net::Headers& given :
       {net::Headers{{"traceparent", "nonsense"}, {"tracestate", "a=1"}},
        net::Headers{
            {"traceparent", traceparent()}, {"traceparent", traceparent()}, {"tracestate", "a=1"}},
        net::Headers{{"tracestate", "a=1"}}}) {
    net::Headers headers = given;
    const RequestTrace trace = ids.begin(headers);
    EXPECT_FALSE(trace.parent.has_value());
    EXPECT_FALSE(headers.find("traceparent").has_value());
    EXPECT_FALSE(headers.find("tracestate").has_value());
  }
}

}  // namespace
}  // namespace kantha::noded
