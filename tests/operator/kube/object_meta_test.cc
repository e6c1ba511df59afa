#include "operator/kube/object_meta.h"

#include <gtest/gtest.h>

namespace kantha::kube {
namespace {

Json object(std::string_view metadata) {
  return parse_json("{\"metadata\":" + std::string(metadata) + "}").value();
}

TEST(ObjectMeta, ReadsWhatWeNeedAndNothingElse) {
  const auto meta = object_meta_from_json(object(R"({"name":"a","namespace":"n","uid":"u",
      "resourceVersion":"12","generation":3,"deletionTimestamp":"2026-11-30T00:00:00Z",
      "finalizers":["f"],"labels":{"k":"v"},"annotations":{"x":""},
      "managedFields":[{"anything":1}],
      "ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"ou"},
                         {"apiVersion":"v1","kind":"K","name":"p","uid":"pu","controller":true}]})"));
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->key.to_string(), "n/a");
  EXPECT_EQ(meta->generation, 3);
  EXPECT_TRUE(meta->is_deleting());
  EXPECT_EQ(meta->labels.at("k"), "v");
  ASSERT_NE(meta->controller(), nullptr);
  EXPECT_EQ(meta->controller()->uid, "pu");
}

TEST(ObjectMeta, RefusesWrongTypesWithTheirPath) {
  const struct {
    const char* metadata;
    const char* field;
  } cases[] = {
      {R"({"name":7})", "metadata.name"},
      {R"({})", "metadata.name"},
      {R"({"name":"a","labels":{"k":1}})", "metadata.labels.k"},
      {R"({"name":"a","labels":[]})", "metadata.labels"},
      {R"({"name":"a","finalizers":"f"})", "metadata.finalizers"},
      {R"({"name":"a","ownerReferences":[3]})", "metadata.ownerReferences[0]"},
      {R"({"name":"a","generation":-1})", "metadata.generation"},
      {R"("text")", "metadata"},
  };
  for (const auto& each : cases) {
    const auto meta = object_meta_from_json(object(each.metadata));
    ASSERT_FALSE(meta.ok()) << each.metadata;
    EXPECT_EQ(meta.error().field, each.field) << each.metadata;
  }
  EXPECT_FALSE(object_meta_from_json(Json::array()).ok());
}

TEST(CompareVersions, OrdersNumbersAndNothingElse) {
  EXPECT_TRUE(compare_versions("9", "10") < 0);
  EXPECT_TRUE(compare_versions("10", "10") == 0);
  EXPECT_TRUE(compare_versions("18446744073709551615", "2") > 0);
  EXPECT_EQ(compare_versions("a", "b"), std::partial_ordering::unordered);
  EXPECT_EQ(compare_versions("", "1"), std::partial_ordering::unordered);
}

TEST(Resource, MakesPathsWithEncodedSegments) {
  EXPECT_EQ(kPods.collection_path(""), "/api/v1/pods");
  EXPECT_EQ(kModelServings.collection_path("n"),
            "/apis/serving.kantha.dev/v1alpha1/namespaces/n/modelservings");
  EXPECT_EQ(kPods.object_path({"n", "a/../b"}, "status"),
            "/api/v1/namespaces/n/pods/a%2F..%2Fb/status");
  EXPECT_EQ(kLeases.api_version(), "coordination.k8s.io/v1");
}

}  // namespace
}  // namespace kantha::kube
