#include "operator/serving/child_reset.h"

#include <gtest/gtest.h>

#include "operator/serving/covers.h"
#include "operator/serving/render_pdb.h"
#include "operator/serving/render_service.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/golden_document.h"

namespace kantha::serving {
namespace {

/// A child as the API server holds it (golden/live), after somebody's edit of its spec.
Json edited(const char* name, const char* spec) {
  Json out = parse_json(golden_text(std::string("live/") + name)).value();
  out["metadata"]["uid"] = "uid-child";
  out["metadata"]["resourceVersion"] = "41";
  out["spec"].merge_patch(Json::parse(spec));
  return out;
}

Json reset(Json live, const OrderedJson& wanted) {
  const Json patch = Json::parse(dump_json(render_child_reset(live, wanted)));
  // A server compares the resourceVersion that a patch leaves and then gives another.
  EXPECT_EQ(patch.at(1).at("path"), "/metadata/resourceVersion");
  EXPECT_EQ(patch.at(1).at("value"), live["metadata"]["resourceVersion"]);
  return live.patch(patch);
}

TEST(ChildReset, TheSpecIsWhatWasWantedWhateverWasEdited) {
  const ClusterServing owner = sample_owner();
  const struct {
    const char* what;
    const char* live;
    OrderedJson wanted;
    const char* edit;
  } cases[] = {
      {"a port's number", "service", render_service(owner),
       R"({"ports":[{"name":"http","port":81,"protocol":"TCP","targetPort":"api"}]})"},
      {"a port's protocol", "service", render_service(owner),
       R"({"ports":[{"name":"http","port":80,"protocol":"UDP","targetPort":"api"}]})"},
      {"the type, with what belongs to it", "service", render_service(owner),
       R"({"type":"LoadBalancer","loadBalancerSourceRanges":["10.0.0.0/8"],
           "externalTrafficPolicy":"Local"})"},
      {"a name outside", "service", render_service(owner),
       R"({"type":"ExternalName","externalName":"example.com","clusterIP":null,
           "clusterIPs":null})"},
      {"a selector", "service", render_service(owner), R"({"selector":{"app":"web"}})"},
      {"unready addresses", "service", render_service(owner),
       R"({"publishNotReadyAddresses":true})"},
      {"a headless port's number", "service_headless", render_headless_service(owner),
       R"({"ports":[{"name":"api","port":9000,"protocol":"TCP","targetPort":"api"}]})"},
      {"a budget from the other end", "pdb", render_pdb(owner),
       R"({"maxUnavailable":null,"minAvailable":1})"},
      {"a budget's selector", "pdb", render_pdb(owner),
       R"({"selector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}})"},
  };
  for (const auto& c : cases) {
    const Json live = edited(c.live, c.edit);
    ASSERT_FALSE(covers(live, c.wanted)) << c.what << " is seen";
    EXPECT_FALSE(must_be_remade(live, c.wanted)) << c.what;
    const Json after = reset(live, c.wanted);
    EXPECT_TRUE(covers(after, c.wanted)) << c.what << dump_json(after);
    for (const char* left : {"minAvailable", "externalName", "loadBalancerSourceRanges"}) {
      EXPECT_FALSE(after["spec"].contains(left)) << c.what;
    }
  }
}

TEST(ChildReset, AServiceKeepsItsAddress) {
  const OrderedJson wanted = render_service(sample_owner());
  const Json live = edited("service", R"({"type":"NodePort"})");
  const Json after = reset(live, wanted);
  for (const char* field : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    EXPECT_EQ(after["spec"][field], live["spec"][field]) << field;
  }
  const Json outside = edited("service", R"({"type":"ExternalName","clusterIP":""})");
  EXPECT_FALSE(reset(outside, wanted)["spec"].contains("clusterIP"))
      << "the server gives a new one";
}

TEST(ChildReset, OnlyAnotherKindOfAddressMakesAServiceBeMadeAnew) {
  const OrderedJson client = render_service(sample_owner());
  const OrderedJson headless = render_headless_service(sample_owner());
  const Json with_address = edited("service", "{}");
  const Json without = edited("service_headless", "{}");
  EXPECT_FALSE(must_be_remade(with_address, client));
  EXPECT_FALSE(must_be_remade(without, headless));
  EXPECT_TRUE(must_be_remade(with_address, headless));
  EXPECT_TRUE(must_be_remade(without, client));
  // An ExternalName has none, and an edit gives it one of either kind.
  const Json outside = edited("service", R"({"type":"ExternalName","clusterIP":null})");
  EXPECT_FALSE(must_be_remade(outside, headless));
  EXPECT_FALSE(must_be_remade(Json::object(), client));
  EXPECT_FALSE(must_be_remade(edited("pdb", "{}"), render_pdb(sample_owner())));
}

}  // namespace
}  // namespace kantha::serving
