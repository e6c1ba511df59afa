#include "base/json_text.h"

#include <gtest/gtest.h>

namespace kantha {
namespace {

TEST(JsonText, GivesStringsAndNothingElse) {
  const Json json = parse_json(R"({"a":"x","n":7,"z":null,"o":{"b":"y","n":1},"l":["q"]})").value();
  EXPECT_EQ(text_at(json, "a"), "x");
  EXPECT_EQ(text_at(json, "o", "b"), "y");
  for (const char* other : {"n", "z", "o", "l", "absent"}) EXPECT_EQ(text_at(json, other), "");
  for (const char* outer : {"a", "n", "z", "l", "absent"}) EXPECT_EQ(text_at(json, outer, "b"), "");
  EXPECT_EQ(text_at(json, "o", "n"), "");
  for (const Json& odd : {Json(), Json(3), Json("a"), Json::array({"a"})}) {
    EXPECT_EQ(text_at(odd, "a"), "");
    EXPECT_EQ(text_at(odd, "a", "b"), "");
  }
}

}  // namespace
}  // namespace kantha
