#include "operator/kube/watch_decoder.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kantha::kube {
namespace {

std::string event(const std::string& type, const std::string& name, std::size_t padding = 0) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"name":")" + name + R"("},"pad":")" +
         std::string(padding, 'p') + "\"}}\n";
}

std::string name_of(const WatchEvent& event) { return event.object["metadata"]["name"]; }

/// "name" of each event, in order, of a stream fed in the given pieces.
std::vector<std::string> names_of(WatchDecoder& decoder, const std::vector<std::string>& pieces) {
  std::vector<std::string> names;
  for (const std::string& piece : pieces) {
    const auto events = decoder.feed(piece);
    if (!events) return {"error: " + events.error().message};
    for (const WatchEvent& each : *events) names.push_back(name_of(each));
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(WatchDecoder, LeavesOutManagedFields) {
  WatchDecoder decoder;
  const auto events = decoder.feed(
      R"({"type":"ADDED","object":{"metadata":{"managedFields":[{"a":"]"}],"name":"x"}}})"
      "\n");
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ((*events)[0].object, Json::parse(R"({"metadata":{"managedFields":[],"name":"x"}})"));
}

TEST(WatchDecoder, KnowsTheFiveTypes) {
  WatchDecoder decoder;
  const auto events =
      decoder.feed(event("ADDED", "a") + event("MODIFIED", "b") + event("DELETED", "c") +
                   event("BOOKMARK", "d") + event("ERROR", "e"));
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 5u);
  const WatchEventType types[] = {WatchEventType::kAdded, WatchEventType::kModified,
                                  WatchEventType::kDeleted, WatchEventType::kBookmark,
                                  WatchEventType::kError};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((*events)[i].type, types[i]);
  EXPECT_EQ(decoder.skipped_count(), 0u);
}

TEST(WatchDecoder, EverySplitInTwoAndEverySizeOfPieceGivesTheSameEvents) {
  const std::string stream = event("ADDED", "a") + "\n\r\n" + event("MODIFIED", "ü€") +
                             "garbage\n" + event("DELETED", "c", 50);
  const Names expected = {"a", "ü€", "c"};
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    WatchDecoder decoder;
    EXPECT_EQ(names_of(decoder, {stream.substr(0, cut), stream.substr(cut)}), expected) << cut;
    EXPECT_EQ(decoder.skipped_count(), 1u);
    EXPECT_EQ(decoder.pending_bytes(), 0u);
  }
  for (std::size_t size = 1; size <= stream.size(); ++size) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < stream.size(); at += size)
      pieces.push_back(stream.substr(at, size));
    WatchDecoder decoder;
    EXPECT_EQ(names_of(decoder, pieces), expected) << size;
  }
}

TEST(WatchDecoder, LargeEventsInRandomPieces) {
  constexpr std::size_t kEventBytes = 300'000;
  std::string stream;
  Names expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back("n" + std::to_string(i));
    stream += event("ADDED", expected.back(), kEventBytes);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = 1 + random_bits(seed, at) % (seed < 10 ? 3000 : 500'000);
      pieces.push_back(stream.substr(at, size));
      at += size;
    }
    WatchDecoder decoder;
    EXPECT_EQ(names_of(decoder, pieces), expected) << "seed " << seed;
  }
}

TEST(WatchDecoder, SkipsAndCountsWhatIsNoEvent) {
  const std::string bad_lines[] = {
      "garbage",
      "{",
      "null",
      "[]",
      "7",
      R"({"type":"ADDED"})",
      R"({"type":"ADDED","object":null})",
      R"({"type":"ADDED","object":[1]})",
      R"({"type":"PONY","object":{}})",
      R"({"type":7,"object":{}})",
      R"({"object":{}})",
      R"({"type":"ADDED","object":{"a":1,"a":2}})",
      "{\"type\":\"ADDED\",\"object\":{\"a\":\"\xff\"}}",
      R"({"type":"ADDED","object":{"a":)" + std::string(100'000, '[') + std::string(100'000, ']') +
          "}}",
      std::string(10, '\0'),
  };
  WatchDecoder decoder;
  std::size_t count = 0;
  for (const std::string& line : bad_lines) {
    EXPECT_EQ(names_of(decoder, {line + "\n" + event("ADDED", "good")}), Names{"good"})
        << line.substr(0, 60);
    EXPECT_EQ(decoder.skipped_count(), ++count) << line.substr(0, 60);
  }
}

TEST(WatchDecoder, FieldsThatNobodyKnowsAreKept) {
  WatchDecoder decoder;
  const auto events = decoder.feed("{\"extra\":1,\"type\":\"ADDED\",\"object\":{\"x\":{}}}\r\n");
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 1u);
  EXPECT_TRUE(events->front().object.contains("x"));
}

TEST(WatchDecoder, AFrameThatIsCutStaysPending) {
  WatchDecoder decoder;
  const std::string whole = event("ADDED", "a");
  EXPECT_EQ(names_of(decoder, {whole + whole.substr(0, 20)}), Names{"a"});
  EXPECT_EQ(decoder.pending_bytes(), 20u);
}

TEST(WatchDecoder, ALineBeyondTheBoundEndsTheWatch) {
  constexpr std::size_t kBound = 100;
  const std::string good = event("ADDED", "a");
  const std::string at_bound = std::string(kBound, 'x') + "\n";
  const std::string beyond = std::string(kBound + 1, 'x') + "\n";
  {
    WatchDecoder decoder(kBound);
    EXPECT_EQ(names_of(decoder, {at_bound, good}), Names{"a"});
  }
  for (const auto& pieces :
       {std::vector{beyond}, std::vector{beyond.substr(0, 60), beyond.substr(60)},
        std::vector{std::string(kBound + 1, 'x')}}) {
    WatchDecoder decoder(kBound);
    EXPECT_EQ(names_of(decoder, pieces),
              Names{"error: a watch event is over the limit of 100 bytes"});
    EXPECT_FALSE(decoder.feed(good).ok()) << "what follows cannot be trusted";
    EXPECT_LE(decoder.pending_bytes(), kBound);
  }
  WatchDecoder decoder(kBound);
  const auto before = decoder.feed(good + beyond);
  ASSERT_TRUE(before.ok()) << "events before it still count";
  EXPECT_EQ(before->size(), 1u);
  EXPECT_EQ(decoder.feed(good).error().code, Code::kOutOfRange);
}

}  // namespace
}  // namespace kantha::kube
