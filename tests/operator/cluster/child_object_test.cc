#include "operator/cluster/child_object.h"

#include <gtest/gtest.h>

#include "operator/kube/lean_text.h"

namespace kantha::cluster {
namespace {

Json service() {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata",
           {{"name", "m"},
            {"namespace", "a"},
            {"uid", "u-1"},
            {"resourceVersion", "5"},
            {"creationTimestamp", "2026-11-30T00:00:00Z"},
            {"labels", {{"serving.kantha.dev/name", "m"}, {"a \"b\"", "c"}}},
            {"managedFields", {1, 2}},
            {"ownerReferences",
             {{{"kind", "ModelServing"}, {"name", "m"}, {"uid", "u-m"}, {"controller", true}}}}}},
          {"spec", {{"ports", {{{"port", 80}}}}, {"selector", {{"x", "y"}}}}},
          {"status", {{"loadBalancer", Json::object()}}}};
}

ChildObject child_of(const Json& object) { return child_object_from_json(object).value(); }

TEST(ChildObject, IsTheObjectWithoutWhatTheServerKeepsForItself) {
  const ChildObject child = child_of(service());
  Json expected = service();
  for (const char* name : {"apiVersion", "kind", "status"}) expected.erase(name);
  for (const char* name : {"creationTimestamp", "managedFields", "resourceVersion"}) {
    expected["metadata"].erase(name);
  }
  EXPECT_EQ(child.json(), expected);
  EXPECT_EQ(child.owner_uid, "u-m");
  EXPECT_EQ(child.meta.resource_version, "5");
}

TEST(ChildObject, TellsContentFromWhatTheServerCounts) {
  const struct {
    const char* what;
    Json patch;
    bool is_same;
  } cases[] = {
      {"a status", {{"status", {{"loadBalancer", {{"ingress", {1}}}}}}}, true},
      {"a version", {{"metadata", {{"resourceVersion", "6"}, {"generation", 2}}}}, true},
      {"who wrote what", {{"metadata", {{"managedFields", {3}}}}}, true},
      {"a list's item without a type", {{"apiVersion", nullptr}, {"kind", nullptr}}, true},
      {"the spec", {{"spec", {{"selector", {{"x", "z"}}}}}}, false},
      {"a label", {{"metadata", {{"labels", {{"n", "v"}}}}}}, false},
      {"its owner", {{"metadata", {{"ownerReferences", nullptr}}}}, false},
      {"another object", {{"metadata", {{"uid", "u-2"}}}}, false},
      {"on its way out", {{"metadata", {{"deletionTimestamp", "2026-11-30T00:00:00Z"}}}}, false},
  };
  for (const auto& c : cases) {
    Json changed = service();
    changed.merge_patch(c.patch);
    EXPECT_EQ(is_same_content(child_of(service()), child_of(changed)), c.is_same) << c.what;
  }
}

TEST(ChildObject, ReadsTheSameWithoutItsStatus) {
  std::string room;
  const Result<Json> lean =
      parse_json(kube::without_members(dump_json(service()), kUnreadOfChildren, room));
  ASSERT_TRUE(lean.ok());
  EXPECT_EQ(child_of(*lean).text, child_of(service()).text);
}

TEST(Autoscaler, ItsConditionsAreContent) {
  Json hpa = service();
  hpa["spec"] = {
      {"scaleTargetRef",
       {{"apiVersion", "serving.kantha.dev/v1alpha1"}, {"kind", "ModelServing"}, {"name", "m"}}}};
  Json limited = hpa;
  limited["status"]["conditions"] = {{{"type", "ScalingActive"}, {"status", "True"}}};
  const auto one = autoscaler_from_json(hpa);
  const auto other = autoscaler_from_json(limited);
  EXPECT_FALSE(is_same_content(one.value(), other.value()));
  limited["status"]["currentMetrics"] = {1};
  EXPECT_TRUE(is_same_content(other.value(), autoscaler_from_json(limited).value()));
}

}  // namespace
}  // namespace kantha::cluster
