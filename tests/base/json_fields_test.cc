#include "base/json_fields.h"

#include <gtest/gtest.h>

namespace kantha {
namespace {

/// One object with a value of each kind.
const Json& sample() {
  static const Json json = *parse_json(R"({
    "text": "three", "flag": true, "whole": 3, "whole_real": 3.0, "real": 3.5, "none": null,
    "huge": 18446744073709551615, "list": ["a", "b"], "mixed": ["a", 1], "inner": {"x": 1}})");
  return json;
}

TEST(JsonFields, ReadsEachType) {
  const JsonFields fields(sample(), "");
  EXPECT_EQ(**fields.string("text"), "three");
  EXPECT_EQ(**fields.boolean("flag"), true);
  EXPECT_EQ(**fields.integer("whole", 0, 10), 3);
  EXPECT_EQ(**fields.integer("whole_real", 0, 10), 3);
  EXPECT_EQ(**fields.number("real", 0, 10), 3.5);
  EXPECT_EQ(**fields.number("whole", 0, 10), 3.0);
  EXPECT_EQ(**fields.strings("list", 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((*fields.array("mixed", 2))->size(), 2U);
}

TEST(JsonFields, AbsentAndNullAreTheSame) {
  const JsonFields fields(sample(), "");
  for (const char* name : {"none", "missing"}) {
    EXPECT_FALSE(fields.string(name)->has_value());
    EXPECT_FALSE(fields.boolean(name)->has_value());
    EXPECT_FALSE(fields.integer(name, 0, 1)->has_value());
    EXPECT_FALSE(fields.number(name, 0, 1)->has_value());
    EXPECT_FALSE(fields.strings(name, 1)->has_value());
    EXPECT_FALSE(fields.object(name)->has_value());
    EXPECT_EQ(*fields.array(name, 1), nullptr);
    EXPECT_EQ(fields.find(name), nullptr);
  }
}

TEST(JsonFields, AWrongTypeNamesTheFieldTheValueAndTheLimit) {
  const JsonFields fields(sample(), "");
  EXPECT_EQ(fields.integer("text", 1, 8192).error().message,
            R"(text: expected an integer in [1, 8192], got "three")");
  EXPECT_EQ(fields.integer("real", 1, 9).error().message,
            "real: expected an integer in [1, 9], got 3.5");
  EXPECT_EQ(fields.string("list").error().message, "list: expected a string, got an array");
  EXPECT_EQ(fields.boolean("whole").error().message, "whole: expected a boolean, got 3");
  EXPECT_EQ(fields.number("flag", 0, 2).error().message,
            "flag: expected a number in [0, 2], got true");
  EXPECT_EQ(fields.object("text").error().message, R"(text: expected an object, got "three")");
  EXPECT_EQ(fields.array("inner", 3).error().message, "inner: expected an array, got an object");
  EXPECT_EQ(fields.integer("text", 1, 2).error().field, "text");
  EXPECT_EQ(fields.integer("text", 1, 2).error().code, Code::kInvalidArgument);
}

TEST(JsonFields, ANumberOutsideItsRangeIsRefused) {
  const JsonFields fields(sample(), "");
  EXPECT_FALSE(fields.integer("whole", 4, 10).ok());
  EXPECT_FALSE(fields.integer("whole", 0, 2).ok());
  EXPECT_TRUE(fields.integer("whole", 3, 3).ok());
  EXPECT_FALSE(fields.integer("huge", 0, INT64_MAX).ok());
  EXPECT_FALSE(fields.number("real", 3.6, 10).ok());
  EXPECT_EQ(fields.number("real", 0, 0.5).error().message,
            "real: expected a number in [0, 0.5], got 3.5");
}

TEST(JsonFields, RealsAreIntegersOnlyWhereTheyAreExact) {
  const Json json = *parse_json(R"({"exact": -9007199254740992.0, "edge": -9223372036854775808,
      "below": -9223372036854775809, "real": -9223372036854775808.0, "above": 9.3e18})");
  const JsonFields fields(json, "");
  EXPECT_EQ(**fields.integer("exact", INT64_MIN, INT64_MAX), -(std::int64_t{1} << 53));
  EXPECT_EQ(**fields.integer("edge", INT64_MIN, INT64_MAX), INT64_MIN);
  for (const char* name : {"below", "real", "above"}) {
    EXPECT_FALSE(fields.integer(name, INT64_MIN, INT64_MAX).ok()) << name;
  }
}

TEST(JsonFields, TooManyItemsAreRefused) {
  const JsonFields fields(sample(), "");
  EXPECT_EQ(fields.strings("list", 1).error().message, "list: expected at most 1 items, got 2");
  EXPECT_EQ(fields.array("list", 0).error().field, "list");
}

TEST(JsonFields, AnItemOfAListIsNamedByItsIndex) {
  const JsonFields fields(sample(), "request");
  const Error error = fields.strings("mixed", 9).error();
  EXPECT_EQ(error.field, "request.mixed[1]");
  EXPECT_EQ(error.message, "request.mixed[1]: expected a string, got 1");
}

TEST(JsonFields, NestedObjectsCarryTheirPath) {
  const JsonFields fields(sample(), "request");
  const auto inner = fields.object("inner");
  EXPECT_EQ(**(*inner)->integer("x", 0, 9), 1);
  EXPECT_EQ((*inner)->integer("x", 5, 9).error().field, "request.inner.x");
  EXPECT_EQ((*inner)->path_of("y"), "request.inner.y");
}

TEST(JsonFields, UnknownFieldsAreNamed) {
  const JsonFields fields((sample()["inner"]), "inner");
  EXPECT_TRUE(fields.check_known({"x", "y"}).ok());
  EXPECT_EQ(fields.check_known({"y"}).error().message, "inner.x: unknown field");
}

TEST(JsonFields, AnythingButAnObjectFailsEveryRead) {
  const Json list = Json::array();
  const JsonFields fields(list, "messages[2]");
  EXPECT_EQ(fields.check_object().error().message, "messages[2]: expected an object, got an array");
  EXPECT_FALSE(fields.string("a").ok());
  EXPECT_FALSE(fields.integer("a", 0, 1).ok());
  EXPECT_FALSE(fields.strings("a", 1).ok());
  EXPECT_FALSE(fields.check_known({}).ok());
  EXPECT_EQ(JsonFields(list, "").check_object().error().message,
            "the document: expected an object, got an array");
  EXPECT_EQ(JsonFields(list, "").check_object().error().field, "");
}

TEST(JsonFields, ALongValueIsCutWithoutBreakingItsCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  const Json json = {{"a", text}};
  const Error error = JsonFields(json, "").boolean("a").error();
  EXPECT_LT(error.message.size(), 110U);
  EXPECT_EQ(dump_json(Json(error.message)).find("\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace kantha
