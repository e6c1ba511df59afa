#include "operator/kube/lean_text.h"

#include <gtest/gtest.h>

#include <array>

#include "base/json.h"

namespace kantha::kube {
namespace {

std::string lean(std::string_view text) {
  std::string room;
  return std::string(without_managed_fields(text, room));
}

TEST(WithoutManagedFields, EmptiesTheMemberWhereverItStands) {
  EXPECT_EQ(lean(R"({"a":{"managedFields":[{"f:x":{"k:{\"type\":\"]\"}":[]}},2],"z":1}})"),
            R"({"a":{"managedFields":[],"z":1}})");
  EXPECT_EQ(lean(R"({"items":[{"managedFields":[1]},{"managedFields" : [1]},)"
                 R"({"managedFields": [[2],"\\"]}]})"),
            R"({"items":[{"managedFields":[]},{"managedFields" : [1]},{"managedFields": []}]})");
}

TEST(WithoutManagedFields, LeavesAloneWhatIsNoSuchMember) {
  for (const char* text : {
           R"({"a":"\"managedFields\":[1]"})",
           R"({"managedFields":{"a":[1]}})",
           R"({"managedFields":null,"managedFieldsToo":[1]})",
           R"(["managedFields",[1]])",
           R"({"managedFields":)",
           R"({"managedFields":[1,"])",
           R"({"managedFields":[[1])",
           "",
       }) {
    EXPECT_EQ(lean(text), text);
  }
}

/// Brackets, quotes and backslashes in every order: what is left parses to the same object.
TEST(WithoutManagedFields, TheRestReadsAsBefore) {
  const std::string marks = "[]{}\"\\,:";
  for (std::size_t i = 0; i < marks.size() * marks.size() * marks.size(); ++i) {
    const std::string odd = {marks[i % 8], marks[i / 8 % 8], marks[i / 64]};
    Json object = {{"metadata", {{"name", odd}, {"managedFields", {odd, {{odd, odd}}}}}},
                   {"spec", {{odd, "\"managedFields\":[" + odd}}}};
    const auto read = parse_json(lean(dump_json(object)));
    ASSERT_TRUE(read.ok()) << odd;
    object["metadata"]["managedFields"] = Json::array();
    EXPECT_EQ(*read, object);
  }
}

constexpr std::array<std::string_view, 2> kNames = {"env", "status"};

std::string lean_of(std::string_view text) {
  std::string room;
  return std::string(without_members(text, kNames, room));
}

TEST(WithoutMembers, EmptiesListsAndObjectsOfTheseNamesAndManagedFields) {
  EXPECT_EQ(lean_of(R"({"a":{"env":[{"env":["]}"]},2],"status":{"x":{"y":"}"}},"z":1},)"
                    R"("managedFields":[{}],"status": {"b":1}})"),
            R"({"a":{"env":[],"status":{},"z":1},"managedFields":[],"status": {}})");
}

TEST(WithoutMembers, LeavesAloneWhatIsNoSuchMember) {
  for (const char* text : {
           R"({"a":"\"env\":[1]","labels":{"env":"prod","status":"{1}"}})",
           R"({"environment":[1],"en":[2],"statu\"s":{"a":1},"state":["env",["status",{"x":1}]]})",
           R"({"env":null,"status":3})",
           R"({"env" : [1]})",
           R"({"env":)",
           R"({"env":[1,"])",
           R"({"status":{"a":[1])",
           R"({"en)",
           R"(")",
           "",
       }) {
    EXPECT_EQ(lean_of(text), text);
  }
}

/// Brackets, quotes and backslashes in every order: what is left parses to the same object.
TEST(WithoutMembers, TheRestReadsAsBefore) {
  const std::string marks = "[]{}\"\\,:";
  for (std::size_t i = 0; i < marks.size() * marks.size() * marks.size(); ++i) {
    const std::string odd = {marks[i % 8], marks[i / 8 % 8], marks[i / 64]};
    Json object = {{"metadata", {{"name", odd}, {"status", {odd, {{odd, odd}}}}}},
                   {"spec", {{odd, "\"env\":[" + odd}, {"env", {{odd, Json::array({odd})}}}}}};
    const auto read = parse_json(lean_of(dump_json(object)));
    ASSERT_TRUE(read.ok()) << odd;
    object["metadata"]["status"] = Json::array();
    object["spec"]["env"] = Json::object();
    EXPECT_EQ(*read, object);
  }
}

}  // namespace
}  // namespace kantha::kube
