#include "base/json.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace kantha {
namespace {

TEST(ParseJson, ReadsEveryKindOfValue) {
  const Json json = *parse_json(
      R"( {"null": null, "yes": true, "int": -3, "big": 18446744073709551615, "real": 2.5e3,
           "text": "a\u00e9\ud83e\udde5\n", "list": [1, [], {}]} )");
  EXPECT_TRUE(json["null"].is_null());
  EXPECT_EQ(json["yes"], true);
  EXPECT_EQ(json["int"], -3);
  EXPECT_EQ(json["big"], UINT64_MAX);
  EXPECT_EQ(json["real"], 2500.0);
  EXPECT_EQ(json["text"], "aé🧥\n");
  EXPECT_EQ(json["list"], Json::parse("[1, [], {}]"));
  EXPECT_EQ(*parse_json("7"), 7);
}

struct BadText {
  const char* name;
  std::string text;
  const char* message;
};

class ParseJsonRefuses : public testing::TestWithParam<BadText> {};

TEST_P(ParseJsonRefuses, WithTheOffset) {
  for (const bool ordered : {false, true}) {
    const Error error =
        ordered ? parse_ordered_json(GetParam().text).error() : parse_json(GetParam().text).error();
    EXPECT_EQ(error.code, Code::kInvalidArgument);
    EXPECT_EQ(error.message.substr(0, std::string(GetParam().message).size()), GetParam().message)
        << error.message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ParseJsonRefuses,
    testing::Values(
        BadText{"empty", "", "invalid JSON at byte 0: "},
        BadText{"cut_off", R"({"a": [1, )", "invalid JSON at byte 10: "},
        BadText{"trailing_text", "{} x", "invalid JSON at byte 3: "},
        BadText{"text_behind_a_nul", std::string("{}\0x", 4), "invalid JSON at byte 2: NUL byte"},
        BadText{"duplicate_key", R"({"a": 1, "a": 2})",
                R"(invalid JSON at byte 11: duplicate key "a")"},
        BadText{"duplicate_key_spelled_differently", R"({"a": 1, "\u0061": 2})",
                R"(invalid JSON at byte 16: duplicate key "a")"},
        BadText{"lone_high_surrogate", R"({"a": "\uD83E"})",
                "invalid JSON at byte 13: invalid string: surrogate U+D800"},
        BadText{"lone_low_surrogate", R"("\uDDE5")", "invalid JSON at byte 6: invalid string"},
        BadText{"high_surrogate_before_text", R"("\uD83Eabc")",
                "invalid JSON at byte 7: invalid string"},
        BadText{"stray_continuation_byte", "\"a\x80\"",
                "invalid JSON at byte 2: invalid string: ill-formed UTF-8 byte"},
        BadText{"overlong_slash", "\"\xc0\xaf\"", "invalid JSON at byte 1: "},
        BadText{"surrogate_in_utf8", "\"\xed\xa0\xbe\"", "invalid JSON at byte 2: "},
        BadText{"nan", "[NaN]", "invalid JSON at byte 1: "},
        BadText{"number_beyond_double", "[1e999]", "invalid JSON at byte 5: "},
        BadText{"leading_zero", "[01]", "invalid JSON at byte 2: "},
        BadText{"control_character_in_a_string", "\"a\nb\"", "invalid JSON at byte 2: "},
        BadText{"comment", "[1] // one", "invalid JSON at byte 4: "}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ParseJson, AnErrorDoesNotRepeatForeignBytes) {
  const Error error = parse_json("\"" + std::string(100'000, 'x') + "\x80\"").error();
  EXPECT_LT(error.message.size(), 250U);
  EXPECT_EQ(error.message.find("xxxx"), error.message.npos);
}

TEST(ParseJson, TheSameKeyInAnotherObjectIsNoDuplicate) {
  EXPECT_TRUE(parse_json(R"([{"a": {"a": 1}}, {"a": 2}])").ok());
  EXPECT_TRUE(parse_ordered_json(R"([{"a": {"a": 1}}, {"a": 2}])").ok());
}

TEST(ParseJson, KeepsDepthWithinTheLimit) {
  const std::string at_limit = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parse_json(at_limit).ok());
  EXPECT_EQ(parse_json("[" + at_limit + "]").error().message,
            "invalid JSON at byte 64: deeper than 64 levels");
  // Without a limit on the way down this would end the stack of a recursive parser.
  EXPECT_FALSE(parse_json(std::string(4'000'000, '[')).ok());
  EXPECT_FALSE(parse_ordered_json(std::string(4'000'000, '[')).ok());
}

TEST(ParseJson, KeepsTheNumberOfValuesWithinTheLimit) {
  const JsonLimits limits{.nodes_max = 3};
  EXPECT_TRUE(parse_json("[1, 2]", limits).ok());
  const Error error = parse_json("[1, 2, 3]", limits).error();
  EXPECT_NE(error.message.find("more than 3 values"), error.message.npos) << error.message;
}

TEST(ParseJson, KeepsTheSizeWithinTheLimit) {
  const JsonLimits limits{.bytes_max = 4};
  EXPECT_TRUE(parse_json("[10]", limits).ok());
  EXPECT_EQ(parse_json("[100]", limits).error().message, "JSON of 5 bytes, at most 4 are allowed");
}

/// One to three bytes of `text` replaced, removed or doubled, as (seed) says.
std::string mutate(std::string text, std::uint64_t seed) {
  const std::uint64_t edits = 1 + random_bits(seed, 0) % 3;
  for (std::uint64_t i = 0; i < edits; ++i) {
    const std::size_t at = random_bits(seed, 3 * i + 1) % text.size();
    const std::uint64_t what = random_bits(seed, 3 * i + 2) % 4;
    constexpr std::string_view kLikely = "{}[]\",:\\u0189ae.-+ \n";
    if (what == 0) {
      text[at] = kLikely[random_bits(seed, 3 * i + 3) % kLikely.size()];
    } else if (what == 1) {
      text[at] = static_cast<char>(random_bits(seed, 3 * i + 3) % 256);
    } else if (what == 2 && text.size() > 1) {
      text.erase(at, 1);
    } else {
      text.insert(at, 1, text[at]);
    }
  }
  return text;
}

TEST(ParseJson, AgreesWithThePlainParserOnDamagedTexts) {
  const std::string text =
      R"({"model": "a\u00e9\ud83e\udde5é", "n": [1, -2.5e3, 0, null, true], "o": {"k": {}}})";
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const std::string damaged = mutate(text, seed);
    const auto ours = parse_json(damaged);
    const Json plain = Json::parse(damaged, nullptr, /*allow_exceptions=*/false);
    if (ours.ok()) {
      ++accepted;
      ASSERT_EQ(*ours, plain) << "seed " << seed << ": " << damaged;
    } else if (!plain.is_discarded()) {
      // Ours is stricter in two things.
      const std::string& message = ours.error().message;
      ASSERT_TRUE(message.find("duplicate key") != message.npos ||
                  message.find("NUL byte") != message.npos)
          << "seed " << seed << ": " << message;
    }
    ASSERT_EQ(parse_ordered_json(damaged).ok(), ours.ok()) << "seed " << seed;
  }
  EXPECT_GT(accepted, 1000) << "the damage must leave some texts whole";
}

TEST(ParseOrderedJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(dump_json(*parse_ordered_json(R"({"z": 1, "a": {"y": [], "b": null}})")),
            R"({"z":1,"a":{"y":[],"b":null}})");
  EXPECT_EQ(dump_json(*parse_json(R"({"z": 1, "a": 2})")), R"({"a":2,"z":1})");
}

TEST(ParseOrderedJson, ManyKeysTakeNoQuadraticTime) {
  std::string text = "{";
  for (int i = 0; i < 99'000; ++i) text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
  EXPECT_EQ(parse_ordered_json(text + "}")->size(), 99'000U);
}

TEST(DumpJson, ReplacesInvalidUtf8) {
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(dump_json(OrderedJson("a\xff")), "\"a\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace kantha
