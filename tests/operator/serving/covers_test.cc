#include <gtest/gtest.h>

#include "base/rng.h"
#include "operator/serving/covers.h"
#include "operator/serving/render_admin_secret.h"
#include "operator/serving/render_pdb.h"
#include "operator/serving/render_pod.h"
#include "operator/serving/render_service.h"
#include "operator/serving/render_service_account.h"
#include "tests/operator/serving/cluster_sample.h"
#include "tests/operator/serving/golden_document.h"

namespace kantha::serving {
namespace {

struct Case {
  const char* what;
  const char* live;
  const char* wanted;
  bool covered;
};

TEST(Covers, ComparesAsServerSideApplyWouldMerge) {
  const Case cases[] = {
      {"equal objects", R"({"a":1})", R"({"a":1})", true},
      {"a default that the server added", R"({"a":1,"b":2})", R"({"a":1})", true},
      {"a field that is missing", R"({"a":1})", R"({"a":1,"b":2})", false},
      {"a value that differs", R"({"a":1})", R"({"a":2})", false},
      {"a value of another type", R"({"a":"1"})", R"({"a":1})", false},
      {"an empty object that the server dropped", R"({})", R"({"a":{}})", true},
      {"an empty list is not an absent one", R"({})", R"({"a":[]})", false},
      {"plain lists in another order", R"({"args":["b","a"]})", R"({"args":["a","b"]})", false},
      {"a plain list that grew", R"({"args":["a","b"]})", R"({"args":["a"]})", false},
      {"finalizers are a set", R"({"finalizers":["x","y"]})", R"({"finalizers":["y"]})", true},
      {"tolerations that admission added", R"({"tolerations":[{"key":"a"},{"key":"b"}]})",
       R"({"tolerations":[{"key":"b"}]})", true},
      {"a toleration that is missing", R"({"tolerations":[{"key":"a"}]})",
       R"({"tolerations":[{"key":"b"}]})", false},
      {"a finalizer that is missing", R"({"finalizers":["x"]})", R"({"finalizers":["y"]})", false},
      {"containers by name, another order and one injected",
       R"({"containers":[{"name":"mesh"},{"name":"b"},{"name":"a","image":"i"}]})",
       R"({"containers":[{"name":"a","image":"i"},{"name":"b"}]})", true},
      {"a container that is missing", R"({"containers":[{"name":"a"}]})",
       R"({"containers":[{"name":"b"}]})", false},
      {"Service ports with the default protocol",
       R"({"spec":{"ports":[{"port":80,"protocol":"TCP","name":"http"}]}})",
       R"({"spec":{"ports":[{"port":80,"name":"http"}]}})", true},
      {"Service ports of another protocol", R"({"spec":{"ports":[{"port":80,"protocol":"UDP"}]}})",
       R"({"spec":{"ports":[{"port":80}]}})", false},
      {"a selector with a key more", R"({"spec":{"selector":{"a":"1","b":"2"}}})",
       R"({"spec":{"selector":{"a":"1"}}})", false},
      {"a budget's selector with a key more",
       R"({"spec":{"selector":{"matchLabels":{"a":"1","b":"2"}}}})",
       R"({"spec":{"selector":{"matchLabels":{"a":"1"}}}})", false},
      {"a budget's selector with an expression more",
       R"({"spec":{"selector":{"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b"}]}}})",
       R"({"spec":{"selector":{"matchLabels":{"a":"1"}}}})", false},
      {"nodes' labels are not a selector of ours", R"({"spec":{"nodeSelector":{"a":"1","b":"2"}}})",
       R"({"spec":{"nodeSelector":{"a":"1"}}})", true},
      {"a switch that the server drops when it is off", R"({"spec":{}})",
       R"({"spec":{"publishNotReadyAddresses":false}})", true},
      {"a switch that somebody turned on", R"({"spec":{"publishNotReadyAddresses":true}})",
       R"({"spec":{"publishNotReadyAddresses":false}})", false},
      {"another switch that is absent", R"({"spec":{}})", R"({"spec":{"hostNetwork":false}})",
       false},
      {"quantities by value", R"({"requests":{"cpu":"1","memory":"1Gi"}})",
       R"({"requests":{"cpu":"1000m","memory":"1024Mi"}})", true},
      {"quantities that differ", R"({"limits":{"cpu":"1"}})", R"({"limits":{"cpu":"1001m"}})",
       false},
      {"a quantity as a number", R"({"limits":{"cpu":2}})", R"({"limits":{"cpu":"2"}})", true},
      {"text outside of resources is text", R"({"x":{"cpu":"1"}})", R"({"x":{"cpu":"1000m"}})",
       false},
      {"whole numbers may lose their point", R"({"a":1})", R"({"a":1.0})", true},
      {"owner references by uid, another owner beside ours",
       R"({"ownerReferences":[{"uid":"x"},{"uid":"u","controller":true}]})",
       R"({"ownerReferences":[{"uid":"u","controller":true}]})", true},
      {"an owner reference that lost its controller flag",
       R"({"ownerReferences":[{"uid":"u","controller":false}]})",
       R"({"ownerReferences":[{"uid":"u","controller":true}]})", false},
      {"a list where an object was", R"({"a":[]})", R"({"a":{"b":1}})", false},
      {"a list map of things that are no objects", R"({"containers":["a",1,null]})",
       R"({"containers":[{"name":"a"}]})", false},
      {"a Secret's stringData is not comparable", R"({"data":{"token":"eA=="}})",
       R"({"stringData":{"token":"x"}})", true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(covers(Json::parse(c.live), OrderedJson::parse(c.wanted)), c.covered) << c.what;
  }
}

std::vector<OrderedJson> documents() {
  const ClusterServing owner = sample_owner(Json::parse(
      R"({"resources": {"cpu": "1000m", "memory": "2Gi"}, "gateway": {"authSecret": "keys"}})"));
  const Revision target = cluster_revision_of(owner.serving, sample_settings());
  return {render_pod(owner, sample_settings(), target, 0),
          render_service(owner),
          render_headless_service(owner),
          render_pdb(owner),
          render_service_account(owner),
          render_admin_secret(owner, "x")};
}

TEST(Covers, WhatAnApiServerMadeOfOurDocuments) {
  // golden/live has them as kube-apiserver 1.37 gave them back (tests/cluster/crd_test.py).
  for (const char* name :
       {"pod_smallest", "pod_everything", "pod_image_source", "service", "service_headless", "pdb",
        "service_account", "admin_secret", "revision_config_map"}) {
    const auto wanted = parse_ordered_json(golden_text(name));
    const auto live = parse_json(golden_text(std::string("live/") + name));
    ASSERT_TRUE(wanted.ok() && live.ok()) << name;
    EXPECT_TRUE(covers(*live, *wanted)) << name;
    EXPECT_GT(live->dump().size(), wanted->dump().size()) << "the server added something";
  }
}

/// Dice for the property tests.
struct Dice {
  std::uint64_t seed;
  std::uint64_t counter = 0;
  std::size_t below(std::size_t bound) { return random_bits(seed, counter++) % bound; }
};

/// What a server does to a document: adds fields everywhere but in selectors.
void add_defaults(Json& json, Dice& dice) {
  if (json.is_object()) {
    for (auto& [key, value] : json.items()) {
      if (key != "selector") add_defaults(value, dice);
    }
    if (dice.below(2) == 0) json["zz-default"] = static_cast<int>(dice.below(9));
  } else if (json.is_array()) {
    for (Json& entry : json) add_defaults(entry, dice);
  }
}

TEST(CoversProperty, IsTrueForWhateverTheServerAddsToWhatWasApplied) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice{seed};
    for (const OrderedJson& wanted : documents()) {
      Json live = Json::parse(dump_json(wanted));
      EXPECT_TRUE(covers(live, wanted));
      add_defaults(live, dice);
      // Map-like lists of strings stay; only objects grew.
      EXPECT_TRUE(covers(live, wanted)) << "seed " << seed << ": " << wanted["kind"];
    }
  }
}

TEST(CoversProperty, HoldsForItemsOfAListWhichCarryNoType) {
  for (const OrderedJson& wanted : documents()) {
    Json live = Json::parse(dump_json(wanted));
    live.erase("apiVersion");
    live.erase("kind");
    EXPECT_TRUE(covers(live, wanted)) << wanted["kind"];
  }
}

/// Pointers to every scalar.
void scalars(const Json& json, const Json::json_pointer& at, std::vector<Json::json_pointer>& out) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) scalars(value, at / key, out);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) scalars(json[i], at / i, out);
  } else {
    out.push_back(at);
  }
}

TEST(CoversProperty, IsFalseWhenAnyWantedValueIsChangedOrRemoved) {
  for (const OrderedJson& wanted : documents()) {
    const Json whole = Json::parse(dump_json(wanted));
    std::vector<Json::json_pointer> all;
    scalars(whole, Json::json_pointer(), all);
    for (const Json::json_pointer& at : all) {
      if (at.to_string().starts_with("/stringData")) continue;
      Json changed = whole;
      changed[at] = "something else";
      EXPECT_FALSE(covers(changed, wanted)) << at.to_string() << " changed";
      Json removed = whole;
      Json& parent = removed[at.parent_pointer()];
      const bool is_type = at.to_string() == "/apiVersion" || at.to_string() == "/kind";
      if (!parent.is_object() || is_type) continue;
      if (parent.at(at.back()) == false && at.back() == "publishNotReadyAddresses") continue;
      parent.erase(at.back());
      EXPECT_FALSE(covers(removed, wanted)) << at.to_string() << " removed";
    }
  }
}

TEST(CoversProperty, HoldsForAnyOrderOfEntriesThatHaveKeys) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Dice dice{seed};
    const OrderedJson wanted = documents()[0];
    Json live = Json::parse(dump_json(wanted));
    for (const char* list : {"/spec/containers", "/spec/volumes", "/spec/containers/0/ports",
                             "/spec/containers/0/env", "/spec/containers/0/volumeMounts"}) {
      Json& entries = live[Json::json_pointer(list)];
      for (std::size_t i = entries.size(); i > 1; --i) {
        std::swap(entries[i - 1], entries[dice.below(i)]);
      }
      if (std::string(list) == "/spec/containers") {
        // The lists below belong to noded, wherever it went.
        if (entries[0]["name"] != "noded") std::swap(entries[0], entries[1]);
      }
    }
    EXPECT_TRUE(covers(live, wanted)) << seed;
  }
}

}  // namespace
}  // namespace kantha::serving
