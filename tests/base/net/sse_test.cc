#include <utility>

#include "base/net/sse.h"

#include <gtest/gtest.h>

namespace kantha::net {
namespace {

using Payloads = std::vector<std::string>;

Payloads read_all(std::string_view bytes) { return SseReader().feed(bytes); }

TEST(Sse, SpellsEvents) {
  EXPECT_EQ(sse_data("{}"), "data: {}\n\n");
  EXPECT_EQ(sse_data(""), "data: \n\n");
  EXPECT_EQ(sse_data("a\nb\r\nc\rd"), "data: a\ndata: b\ndata: c\ndata: d\n\n");
  EXPECT_EQ(sse_comment("ping"), ": ping\n\n");
}

TEST(Sse, ReadsWhatTheStandardSays) {
  EXPECT_EQ(read_all("data: a\n\ndata:b\n\ndata:  c\n\n"), Payloads({"a", "b", " c"}));
  EXPECT_EQ(read_all("data: a\r\ndata: b\r\n\r\n"), Payloads({"a\nb"}));
  EXPECT_EQ(read_all("data: a\r\rdata: b\r\r"), Payloads({"a", "b"}));
  EXPECT_EQ(read_all(": note\nevent: x\nid: 1\n\n"), Payloads());
  EXPECT_EQ(read_all("data\n\ndata:\n\n"), Payloads({"", ""}));
  EXPECT_EQ(read_all("data: a\ndata:\n\n"), Payloads({"a\n"}));
  EXPECT_EQ(read_all("\xEF\xBB\xBF"
                     "data: a\n\n"),
            Payloads({"a"}));
  EXPECT_EQ(read_all("database: a\n\ndata: cut"), Payloads());
}

TEST(Sse, GivesTheSameHoweverTheBytesAreSplit) {
  const std::string bytes =
      "\xEF\xBB\xBF: hi\r\n\r\ndata: {\"a\":1}\r\n\r\ndata: x\ndata: y\n\r\ndata: z\r\r" +
      sse_data("line\nbreak") + sse_comment("ping") + "data: [DONE]\n\n";
  const Payloads expected = {"{\"a\":1}", "x\ny", "z", "line\nbreak", "[DONE]"};
  for (std::size_t first = 0; first <= bytes.size(); ++first) {
    for (std::size_t second = first; second <= bytes.size(); ++second) {
      SseReader reader;
      Payloads payloads;
      const std::string_view all = bytes;
      for (const auto piece :
           {all.substr(0, first), all.substr(first, second - first), all.substr(second)}) {
        for (std::string& payload : reader.feed(piece)) payloads.push_back(std::move(payload));
      }
      ASSERT_EQ(payloads, expected) << first << " " << second;
      ASSERT_EQ(reader.pending_bytes(), 0u);
    }
  }
}

TEST(Sse, CountsWhatItHoldsBack) {
  SseReader reader;
  reader.feed("data: 123\ndata: 45");
  EXPECT_EQ(reader.pending_bytes(), 3 + 8u);
}

}  // namespace
}  // namespace kantha::net
