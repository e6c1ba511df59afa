#include "operator/kube/lean_text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace kantha::kube
