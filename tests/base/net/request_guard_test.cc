#include "base/net/request_guard.h"

#include <gtest/gtest.h>

#include "base/net/message_parser.h"

namespace kantha::net {
namespace {

/// Status of the refusal of a whole head, 0 when it passes.
int judge(std::string_view head, const HttpLimits& limits = {}) {
  const HeadVerdict verdict = check_request_head(head, limits);
  return verdict.refusal ? verdict.refusal->status : 0;
}

RequestFacts facts_of(std::string_view head) {
  const HeadVerdict verdict = check_request_head(head, {});
  EXPECT_FALSE(verdict.refusal);
  return verdict.facts;
}

TEST(RequestGuard, PassesWhatClientsSend) {
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: a\r\nA-b_c.1:\tx \t\r\nEmpty:\r\n\r\n"), 0);
  EXPECT_EQ(judge("OPTIONS * HTTP/1.1\r\nhost:\r\n\r\n"), 0);
  EXPECT_EQ(judge("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: a\r\nX: caf\xc3\xa9\r\n\r\n"), 0);
  EXPECT_EQ(judge("POST /%20?a=b#c HTTP/1.1\r\nHost: a\r\ncontent-length: 008\r\n\r\n"), 0);
}

TEST(RequestGuard, ReadsTheFacts) {
  const RequestFacts plain = facts_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(plain.keep_alive && !plain.has_body && !plain.is_head && !plain.expects_continue);
  const RequestFacts full = facts_of(
      "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: upgrade , Close\r\n"
      "Transfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_TRUE(!full.keep_alive && full.has_body && full.is_head && full.expects_continue);
  const RequestFacts old = facts_of("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
  EXPECT_TRUE(old.keep_alive && old.is_http_10);
  EXPECT_FALSE(facts_of("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").expects_continue);
  EXPECT_FALSE(facts_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").has_body);
}

TEST(RequestGuard, HoldsItsLimitsToTheByte) {
  const HttpLimits limits = {.request_line_bytes_max = 20,
                             .header_bytes_max = 30,
                             .header_count_max = 3,
                             .body_bytes_max = 10};
  EXPECT_EQ(judge("GET /1234 HTTP/1.1\r\nHost: a\r\n\r\n", limits), 0);
  EXPECT_EQ(judge("GET /12345 HTTP/1.1\r\nHost: a\r\n\r\n", limits), 414);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: a\r\nB: 89012345678\r\n\r\n", limits), 0);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost: a\r\nB: 8901234567890123\r\n\r\n", limits), 431);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost:\r\nB:\r\nC:\r\n\r\n", limits), 0);
  EXPECT_EQ(judge("GET / HTTP/1.1\r\nHost:\r\nB:\r\nC:\r\nD:\r\n\r\n", limits), 431);
  EXPECT_EQ(judge("GET / HTTP/1.0\r\nContent-Length: 10\r\n\r\n", limits), 0);
  EXPECT_EQ(judge("GET / HTTP/1.0\r\nContent-Length: 11\r\n\r\n", limits), 413);
}

TEST(HeadScanner, FindsTheEndInPiecesOfAnySize) {
  const HttpLimits limits;
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t step = 1; step <= head.size(); ++step) {
    HeadScanner scanner(limits);
    std::size_t found = 0;
    for (std::size_t end = step; found == 0; end += step) {
      const auto scan = scanner.scan(std::string_view(head).substr(0, end));
      ASSERT_FALSE(scan.refusal);
      ASSERT_LT(end, head.size() + step);
      found = scan.head_bytes;
    }
    EXPECT_EQ(found, head.size());
  }
}

TEST(HeadScanner, RefusesAsSoonAsItShows) {
  const HttpLimits limits = {.request_line_bytes_max = 32, .header_bytes_max = 64};
  const auto status_of = [&limits](std::string_view bytes) {
    HeadScanner scanner(limits);
    const auto found = scanner.scan(bytes);
    return found.refusal ? found.refusal->status : 0;
  };
  EXPECT_EQ(status_of("GET / HTTP/1.1"), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.1\n"), 400);
  EXPECT_EQ(status_of("\n"), 400);
  EXPECT_EQ(status_of("\x16\x03"), 400);
  EXPECT_EQ(status_of(std::string(33, 'G')), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + std::string(64, 'a')), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n" + std::string(65, 'a')), 431);
}

/// Linear congruential numbers: the same damage in each run.
class Damage {
 public:
  std::size_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state_ >> 33) % bound;
  }
  std::string apply(std::string wire) {
    static const std::string kBytes("\r\n \t:;,01239aAfFxX/\0\x7f\xff", 22);
    const std::size_t count = 1 + below(5);
    for (std::size_t i = 0; i < count && !wire.empty(); ++i) {
      const std::size_t at = below(wire.size());
      switch (below(4)) {
        case 0: wire.erase(at, 1 + below(6)); break;
        case 1: wire.insert(at, 1, kBytes[below(kBytes.size())]); break;
        case 2: wire[at] = kBytes[below(kBytes.size())]; break;
        default: wire.insert(at, wire.substr(below(wire.size()), 1 + below(12)));
      }
    }
    return wire;
  }

 private:
  std::uint64_t state_ = 20240917;
};

/// Guard and Beast must never disagree about framing: that is what smuggling lives on.
void check_agreement(const std::string& wire) {
  const HttpLimits limits = {.body_bytes_max = 1000};
  HeadScanner scanner(limits);
  const auto found = scanner.scan(wire);
  if (found.refusal || found.head_bytes == 0) return;
  const std::string_view head = std::string_view(wire).substr(0, found.head_bytes);
  const HeadVerdict verdict = check_request_head(head, limits);
  if (verdict.refusal) return;
  MessageParser parser(MessageKind::kRequest, {.body_bytes_max = 1000});
  const Result<std::size_t> used = parser.feed(head);
  if (!used.ok()) return;
  ASSERT_EQ(*used, head.size()) << wire;
  ASSERT_TRUE(parser.head_done()) << wire;
  ASSERT_EQ(parser.done(), !verdict.facts.has_body) << wire;
  std::string_view rest = std::string_view(wire).substr(head.size());
  while (!parser.done() && !rest.empty()) {
    const Result<std::size_t> more = parser.feed(rest);
    if (!more.ok() || *more == 0) break;
    rest.remove_prefix(*more);
  }
  ASSERT_LE(parser.take_body().size(), 1000u);
}

TEST(RequestGuard, AgreesWithTheParserOnDamagedRequests) {
  const std::vector<std::string> seeds = {
      "GET /a?b HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
      "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world",
      "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: "
      "u\r\n\r\n",
      "PUT / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: "
      "1\r\n\r\nz"};
  Damage damage;
  for (int round = 0; round < 20000; ++round) {
    check_agreement(damage.apply(seeds[damage.below(seeds.size())]));
  }
}

}  // namespace
}  // namespace kantha::net
