#include "operator/serving/references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operator/serving/cluster_sample.h"

namespace kantha::serving {
namespace {

std::vector<std::string> named(const Json& spec, const ClusterSettings& settings) {
  std::vector<std::string> out;
  for (const Reference& reference : references_of(sample_owner(spec).serving, settings)) {
    out.push_back(missing_reference(reference, "apps").message);
  }
  return out;
}

TEST(References, EachObjectThatSomebodyElseMakesIsNamedByItsField) {
  ClusterSettings settings = sample_settings();
  EXPECT_THAT(named(Json::object(), settings), testing::IsEmpty());
  settings.image_pull_secrets = {"pull", "keys"};
  const Json spec = {
      {"model",
       {{"source", {{"hostPath", nullptr}, {"pvc", {{"claimName", "w"}, {"path", "m"}}}}}}},
      {"gateway", {{"authSecret", "keys"}}},
      {"rollout", {{"gates", {{"goldenPrompts", {{"configMap", "gold"}}}}}}}};
  EXPECT_THAT(
      named(spec, settings),
      testing::ElementsAre(
          "spec.model.source.pvc.claimName: PersistentVolumeClaim \"w\" does not exist in "
          "namespace \"apps\"",
          "spec.rollout.gates.goldenPrompts.configMap: ConfigMap \"gold\" does not exist in "
          "namespace \"apps\"",
          "spec.gateway.authSecret: Secret \"keys\" does not exist in namespace \"apps\"",
          "--image-pull-secret of the operator: Secret \"pull\" does not exist in namespace "
          "\"apps\""));
}

TEST(References, TheReasonNamesTheKind) {
  EXPECT_EQ(missing_reference({ReferenceKind::kSecret, {}, "x", "f"}, "n").reason,
            "SecretNotFound");
  EXPECT_EQ(missing_reference({ReferenceKind::kClaim, {}, "x", "f"}, "n").reason,
            "PersistentVolumeClaimNotFound");
  EXPECT_EQ(missing_reference({ReferenceKind::kConfigMap, {}, "x", "f"}, "n").reason,
            "ConfigMapNotFound");
}

}  // namespace
}  // namespace kantha::serving
