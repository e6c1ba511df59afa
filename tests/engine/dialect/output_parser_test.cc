#include "engine/dialect/output_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "tests/engine/dialect/dialect_outputs.h"

namespace kantha::dialect {
namespace {

std::vector<std::string> bytes_of(const std::string& text) {
  std::vector<std::string> pieces;
  for (const char byte : text) pieces.emplace_back(1, byte);
  return pieces;
}

TEST(OutputParser, ReadsEveryModelsWayOfCalling) {
  for (const OutputCase& output : output_cases()) {
    const Parsed parsed = parse_pieces(options_of(output), {output.output});
    EXPECT_EQ(parsed.reasoning, output.reasoning) << output.name;
    EXPECT_EQ(parsed.content, output.content) << output.name;
    std::vector<std::pair<std::string, std::string>> calls;
    for (const CallDelta& call : parsed.calls) {
      EXPECT_EQ(call.index, static_cast<std::int32_t>(calls.size())) << output.name;
      EXPECT_EQ(call.id, call_id(7, call.index)) << output.name;
      calls.emplace_back(call.name, call.arguments);
    }
    EXPECT_EQ(calls, output.calls) << output.name << ": " << print(parsed);
  }
}

TEST(OutputParser, GivesTheSameForEverySingleCut) {
  for (const OutputCase& output : output_cases()) {
    const ParserOptions options = options_of(output);
    const std::string& text = output.output;
    const std::string whole = print(parse_pieces(options, {text}));
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
      ASSERT_EQ(print(parse_pieces(options, {text.substr(0, cut), text.substr(cut)})), whole)
          << output.name << " cut at " << cut;
    }
    ASSERT_EQ(print(parse_pieces(options, bytes_of(text))), whole) << output.name;
  }
}

/// Cuts a text at random places, on average every `stride` bytes.
std::vector<std::string> random_pieces(const std::string& text, std::uint64_t seed,
                                       std::uint64_t stride) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (random_bits(seed, i) % stride == 0) pieces.emplace_back();
    pieces.back().push_back(text[i]);
  }
  return pieces;
}

/// The text with a few bytes changed, left out, or repeated.
std::string damaged(std::string text, std::uint64_t seed) {
  static constexpr std::string_view kBytes = "{}[]\"\\<>/,:()= \nn'ax｜";
  for (std::uint64_t edit = 0; edit < 1 + random_bits(seed, 0) % 3 && !text.empty(); ++edit) {
    const std::size_t at = random_bits(seed, 10 + edit) % text.size();
    const char byte = kBytes[random_bits(seed, 20 + edit) % kBytes.size()];
    switch (random_bits(seed, 30 + edit) % 4) {
      case 0: text[at] = byte; break;
      case 1: text.erase(at, 1); break;
      case 2: text.insert(at, 1, byte); break;
      default: text.insert(at, text.substr(at / 2, at - at / 2)); break;
    }
  }
  return text;
}

TEST(OutputParser, GivesTheSameForAHundredThousandSplitsOfGoodAndBrokenOutputs) {
  const auto& cases = output_cases();
  std::size_t calls = 0;
  for (std::uint64_t round = 0; round < 100'000;) {
    const std::uint64_t base = random_bits(1, round);
    OutputCase output = cases[base % cases.size()];
    if ((base >> 32) % 4 != 0) output.output = damaged(output.output, base);
    const ParserOptions options = options_of(output);
    const Parsed whole = parse_pieces(options, {output.output});
    calls += whole.calls.size();
    const std::string expected = print(whole);
    for (int split = 0; split < 10; ++split, ++round) {
      const std::uint64_t seed = random_bits(base, static_cast<std::uint64_t>(split));
      const auto pieces = random_pieces(output.output, seed, 1 + seed % 12);
      ASSERT_EQ(print(parse_pieces(options, pieces)), expected) << output.output;
    }
  }
  EXPECT_GT(calls, 2'000u);
}

TEST(OutputParser, LosesNothingOfAnOutputThatHoldsNoCall) {
  for (std::uint64_t round = 0; round < 20'000; ++round) {
    const auto& cases = output_cases();
    OutputCase output = cases[random_bits(2, round) % cases.size()];
    output.output = damaged(output.output, random_bits(3, round));
    output.reasoning_parser = "none";
    const Parsed parsed = parse_pieces(options_of(output), {output.output});
    if (parsed.calls.empty()) {
      EXPECT_EQ(parsed.content, output.output);
    }
  }
}

TEST(OutputParser, StreamsArgumentsAsTheyAreWritten) {
  for (const OutputCase& output : output_cases()) {
    const bool waits = output.name.find("before the name") != std::string::npos ||
                       output.name.find("of any size") != std::string::npos;
    if (output.calls.empty() || waits) continue;
    OutputParser parser(options_of(output));
    std::vector<std::string> arguments(output.calls.size());
    std::size_t last = 0;
    std::size_t held = 0;
    for (std::size_t i = 0; i < output.output.size(); ++i) {
      const Parsed parsed = parser.push(output.output.substr(i, 1));
      for (const CallDelta& call : parsed.calls) {
        arguments[static_cast<std::size_t>(call.index)] += call.arguments;
        if (call.index == 0) held = std::max(held, call.arguments.size());
        last = i;
      }
    }
    EXPECT_GT(last, 0u);
    EXPECT_LE(held, 12u) << output.name << ": no delta holds more than what one byte decided";
  }
}

TEST(OutputParser, TellsWhereReasoningIs) {
  OutputParser parser(
      {.reasoning = reasoning_syntax_named("think").value(), .inside_reasoning = true});
  EXPECT_TRUE(parser.is_reasoning());
  static_cast<void>(parser.push("a b"));
  EXPECT_TRUE(parser.is_reasoning());
  static_cast<void>(parser.push("</think>"));
  EXPECT_FALSE(parser.is_reasoning());
}

TEST(OutputParser, OneCallIsDoneWithItsArguments) {
  OutputCase output{.name = "", .tool_parser = "hermes", .output = ""};
  output.one_call = true;
  OutputParser parser(options_of(output));
  static_cast<void>(parser.push("<tool_call>{\"name\":\"ping\",\"arguments\":{"));
  EXPECT_FALSE(parser.done());
  static_cast<void>(parser.push("}"));
  EXPECT_TRUE(parser.done());
  EXPECT_TRUE(parser.push(" and <tool_call>").empty());
  EXPECT_TRUE(parser.finish().empty());
}

TEST(OutputParser, CallsManyTimesAndNoMore) {
  OutputCase output{.name = "", .tool_parser = "hermes", .output = ""};
  for (int i = 0; i < ToolSplit::kCallsMax + 2; ++i) {
    output.output += "<tool_call>{\"name\":\"ping\"}</tool_call>";
  }
  const Parsed parsed = parse_pieces(options_of(output), {output.output});
  EXPECT_EQ(parsed.calls.size(), static_cast<std::size_t>(ToolSplit::kCallsMax));
  EXPECT_EQ(parsed.content.find("<tool_call>{\"name\":\"ping\"}</tool_call>"), 0u);
}

TEST(OutputParser, KeepsOnlyABoundedPartOfWhatIsNotCertain) {
  OutputCase output{.name = "", .tool_parser = "hermes", .output = ""};
  OutputParser parser(options_of(output));
  Parsed all = parser.push("<tool_call>{\"arguments\":{\"a\":\"");
  for (int i = 0; i < 3; ++i) all.append(parser.push(std::string(8 << 10, 'x')));
  EXPECT_GT(all.content.size(), kHeldBytesMax);
}

TEST(CallId, IsDistinctForEverySeedAndPlace) {
  std::set<std::string> ids;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::int32_t index = 0; index < 50; ++index) ids.insert(call_id(seed, index));
  }
  EXPECT_EQ(ids.size(), 2'500u);
  EXPECT_EQ(call_id(1, 2), call_id(1, 2));
  EXPECT_EQ(call_id(1, 2).size(), 29u);
  EXPECT_TRUE(call_id(1, 2).starts_with("call_"));
}

}  // namespace
}  // namespace kantha::dialect
