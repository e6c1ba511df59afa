#include "noded/api/fleet_view.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

Result<FleetView> read(const std::string& text) {
  Result<Json> json = parse_json(text);
  if (!json.ok()) return std::move(json).error();
  return fleet_view_from_json(*json);
}

TEST(FleetView, IsReadAsItWasWritten) {
  const FleetView view{1'764'489'600'000,
                       {{"a-0", "10.0.0.7:8000", "m", "r-1"}, {"a-1", "unix:/run/x", "m", ""}}};
  const Result<FleetView> again = fleet_view_from_json(to_json(view));
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(*again, view);
}

TEST(FleetView, IgnoresFieldsThatItDoesNotKnow) {
  const auto view =
      read(R"({"observed_at_ms":5,"new":1,"peers":[{"name":"a","endpoint":"x:1","zone":"b"}]})");
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->peers.front().name, "a");
}

TEST(FleetView, RefusesEachWrongThingWithItsPath) {
  struct Case {
    const char* what;
    std::string text;
    const char* field;
  };
  const std::string long_text(254, 'x');
  const Case cases[] = {
      {"no object", "[]", ""},
      {"no time", R"({"peers":[]})", "observed_at_ms"},
      {"a time that is text", R"({"observed_at_ms":"now"})", "observed_at_ms"},
      {"a time before all time", R"({"observed_at_ms":0})", "observed_at_ms"},
      {"peers that are no array", R"({"observed_at_ms":1,"peers":{}})", "peers"},
      {"a peer that is a text", R"({"observed_at_ms":1,"peers":["a"]})", "peers[0]"},
      {"a peer without a name", R"({"observed_at_ms":1,"peers":[{"endpoint":"x:1"}]})",
       "peers[0].name"},
      {"a peer without an endpoint", R"({"observed_at_ms":1,"peers":[{"name":"a"}]})",
       "peers[0].endpoint"},
      {"a model that is a number",
       R"({"observed_at_ms":1,"peers":[{"name":"a","endpoint":"x:1","model":3}]})",
       "peers[0].model"},
      {"a name twice",
       R"({"observed_at_ms":1,"peers":[{"name":"a","endpoint":"x:1"},{"name":"a","endpoint":"y:1"}]})",
       "peers[1].name"},
      {"a name too long",
       R"({"observed_at_ms":1,"peers":[{"name":")" + long_text + R"(","endpoint":"x:1"}]})",
       "peers[0].name"},
  };
  for (const Case& wrong : cases) {
    const auto view = read(wrong.text);
    ASSERT_FALSE(view.ok()) << wrong.what;
    EXPECT_EQ(view.error().code, Code::kInvalidArgument) << wrong.what;
    EXPECT_EQ(view.error().field, wrong.field) << wrong.what;
  }
}

TEST(FleetView, RefusesMorePeersThanAFleetHas) {
  Json json = to_json(FleetView{1, {}});
  for (std::size_t i = 0; i <= kFleetPeersMax; ++i) {
    json["peers"].push_back({{"name", std::to_string(i)}, {"endpoint", "x:1"}});
  }
  const auto view = fleet_view_from_json(json);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().field, "peers");
}

}  // namespace
}  // namespace kantha::noded
