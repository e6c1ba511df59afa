#include "noded/api/activation.h"

#include <gtest/gtest.h>

namespace kantha::noded {
namespace {

TEST(Activation, SurvivesTheTripThroughJsonText) {
  const ActivationTable table{{{.id = "u1",
                                .name = "a/s",
                                .port = 10'007,
                                .asks_for_keys = true,
                                .keys = "{\"keys\":[]}",
                                .pods = {"10.0.0.7:8000", "[fd00::1]:8000"}},
                               {.id = "u2",
                                .name = "b/s",
                                .port = 0,
                                .asks_for_keys = false,
                                .keys = std::nullopt,
                                .pods = {}}}};
  const auto read = activation_table_from_json(Json::parse(to_json(table).dump()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, table);
}

TEST(Activation, TheStateDoesSoToo) {
  const ActivatorState state{.table = "abc",
                             .draining = true,
                             .lanes = {{.id = "u1",
                                        .port = 10'007,
                                        .held = 1,
                                        .waiting = 2,
                                        .total = 3,
                                        .idle_ms = 4,
                                        .error = "port 10007 is in use"}}};
  const auto read = activator_state_from_json(Json::parse(to_json(state).dump()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, state);
}

TEST(Activation, WrongFieldsAreNamed) {
  const std::pair<const char*, const char*> table[] = {
      {R"({})", "entries"},
      {R"({"entries":[{"id":"a"},{"id":"a"}]})", "entries[1].id"},
      {R"({"entries":[{"id":"a","port":-1}]})", "entries[0].port"},
      {R"({"entries":[{"id":"a","keys":{}}]})", "entries[0].keys"},
      {R"({"entries":[7]})", "entries[0]"},
  };
  for (const auto& [text, where] : table) {
    const auto read = activation_table_from_json(Json::parse(text));
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message.find(where), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace kantha::noded
