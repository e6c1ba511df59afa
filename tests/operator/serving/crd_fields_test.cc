#include <gtest/gtest.h>

#include <set>

#include "base/yaml_document.h"
#include "operator/serving/model_serving_from_json.h"
#include "operator/serving/model_serving_to_json.h"
#include "operator/serving/status_of.h"
#include "operator/serving/validate.h"
#include "tests/operator/serving/golden_document.h"
#include "tests/operator/serving/sample_moment.h"

/// The CRD and the decoder know the same fields, defaults and limits, although both are written by
/// hand.
namespace kantha::serving {
namespace {

const Json& schema() {
  static const Json root = [] {
    const std::string text = source_text("crds/serving.kantha.dev_modelservings.yaml");
    const YamlText read = read_yaml(text);
    for (const YamlProblem& problem : read.problems) {
      ADD_FAILURE() << "line " << problem.line << ": " << problem.problem.message;
    }
    return read.documents.at(0).root["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
  }();
  return root;
}

const Json& schema_of(const char* part) { return schema()["properties"][part]; }

/// Some value that the schema allows, with every field there is.
Json full_value(const Json& at) {
  if (at.contains("enum")) return at["enum"].back();
  if (at.value("x-kubernetes-int-or-string", false)) return 1'048'576;
  const std::string type = at["type"];
  if (type == "object" && at.contains("additionalProperties")) return {{"key", "value"}};
  if (type == "object") {
    Json out = Json::object();
    for (const auto& [name, child] : at["properties"].items()) out[name] = full_value(child);
    return out;
  }
  if (type == "array") return Json::array({full_value(at["items"])});
  if (type == "string") return "text";
  if (type == "boolean") return true;
  return at.value("maximum", Json(7));
}

/// Every path of a value that the schema does not have.
void unknown_paths(const Json& value, const Json& at, const std::string& path,
                   std::set<std::string>& out) {
  if (value.is_array()) {
    for (const Json& entry : value) unknown_paths(entry, at["items"], path + "[]", out);
  }
  if (!value.is_object() || at.contains("additionalProperties")) return;
  for (const auto& [name, child] : value.items()) {
    if (!at.contains("properties") || !at["properties"].contains(name)) {
      out.insert(path + "." + name);
    } else {
      unknown_paths(child, at["properties"][name], path + "." + name, out);
    }
  }
}

/// What the API server does with defaults.
void apply_defaults(Json& value, const Json& at) {
  if (value.is_array()) {
    for (Json& entry : value) apply_defaults(entry, at["items"]);
  }
  if (!value.is_object() || !at.contains("properties")) return;
  for (const auto& [name, child] : at["properties"].items()) {
    if (!value.contains(name) && child.contains("default")) value[name] = child["default"];
    if (value.contains(name)) apply_defaults(value[name], child);
  }
}

Json object_with(const Json& spec) {
  return {
      {"apiVersion", kApiVersion}, {"kind", kKind}, {"metadata", {{"name", "m"}}}, {"spec", spec}};
}

std::set<std::string> leaves_of(const Json& value) {
  std::set<std::string> out;
  for (const auto& [path, leaf] : value.flatten().items()) out.insert(path);
  return out;
}

TEST(CrdFields, AreAllKnownToTheDecoder) {
  Problems problems;
  model_serving_from_json(object_with(full_value(schema_of("spec"))), UnknownFields::kRefuse,
                          problems);
  for (const Problem& problem : problems) ADD_FAILURE() << problem.path << ": " << problem.message;
}

TEST(CrdFields, CarryEverythingThatTheDecoderKnows) {
  Problems problems;
  const ModelServing everything = model_serving_from_json(
      object_with(full_value(schema_of("spec"))), UnknownFields::kRefuse, problems);
  const Json written = to_json(everything)["spec"];
  std::set<std::string> unknown;
  unknown_paths(written, schema_of("spec"), "spec", unknown);
  EXPECT_EQ(unknown, std::set<std::string>{});
  // And nothing of the CRD is lost on the way.
  EXPECT_EQ(leaves_of(written), leaves_of(full_value(schema_of("spec"))));
}

TEST(CrdFields, CarryEverythingOfTheStatus) {
  const ClusterServing owner = sample_owner();
  const ClusterObservation seen =
      observe_cluster(owner, sample_settings(), {}, {}, sample_moment());
  Plan made = plan(seen.observed, TimePoint{});
  made.rollout = RolloutState{.phase = RolloutPhase::kBaking,
                              .since = sample_time(),
                              .target = "r-b.1",
                              .last_good = "r-a",
                              .good_spec = "{}",
                              .older_spec = "{}",
                              .image = "engine@sha256:b",
                              .good_image = "engine@sha256:a",
                              .ring_name = "canary",
                              .progress = "1/1",
                              .progress_at = sample_time(),
                              .image_wait = "m-3 waits until node-3 has the image",
                              .image_wait_since = sample_time(),
                              .verdict = "Inconclusive",
                              .message = "too few requests"};
  Json status = status_of(owner, seen, made, {}, sample_time());
  EXPECT_EQ(status["rollout"].size(), 18U) << "every field is written and known";
  status["currentRevision"] = "r-1";
  std::set<std::string> unknown;
  unknown_paths(status, schema_of("status"), "status", unknown);
  EXPECT_EQ(unknown, std::set<std::string>{});
}

TEST(CrdFields, DefaultAsTheStructsDo) {
  const Json minimal = {{"model", {{"source", {{"hostPath", "/m.gguf"}}}}},
                        {"autoscaling", {{"maxReplicas", 4}}},
                        {"scheduling", {{"topologySpreadConstraints", {{{"topologyKey", "z"}}}}}}};
  Json defaulted = minimal;
  apply_defaults(defaulted, schema_of("spec"));
  EXPECT_NE(defaulted, minimal);
  Problems problems;
  const ModelServing plain =
      model_serving_from_json(object_with(minimal), UnknownFields::kRefuse, problems);
  const ModelServing from_server =
      model_serving_from_json(object_with(defaulted), UnknownFields::kRefuse, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(to_json(plain), to_json(from_server));
  EXPECT_FALSE(defaulted.contains("replicas")) << "whoever scales owns it";
}

void described(const Json& at, const std::string& path) {
  EXPECT_TRUE(path.empty() || at.contains("description")) << path;
  if (at.contains("properties")) {
    for (const auto& [name, child] : at["properties"].items()) {
      if (path.empty() && name == "metadata") continue;
      described(child, path + "." + name);
    }
  }
  if (at.contains("items") && at["items"].contains("properties")) {
    for (const auto& [name, child] : at["items"]["properties"].items()) {
      described(child, path + "[]." + name);
    }
  }
}

TEST(CrdFields, AreAllDescribed) { described(schema(), ""); }

/// Leaves of the spec: (path, schema), with maxItems of lists noted on the way.
void integers(const Json& at, const Json::json_pointer& path,
              std::vector<std::pair<Json::json_pointer, Json>>& out) {
  if (at.value("type", "") == "integer") out.emplace_back(path, at);
  if (!at.contains("properties")) return;
  for (const auto& [name, child] : at["properties"].items()) integers(child, path / name, out);
}

TEST(CrdFields, BoundIntegersAsValidateDoes) {
  const Json base = {{"model", {{"source", {{"hostPath", "/m.gguf"}}}}}};
  std::vector<std::pair<Json::json_pointer, Json>> all;
  integers(schema_of("spec"), Json::json_pointer(), all);
  EXPECT_GE(all.size(), 15u);
  for (const auto& [path, at] : all) {
    for (const char* end : {"minimum", "maximum"}) {
      ASSERT_TRUE(at.contains(end)) << path;
      const auto bound = at[end].get<std::int64_t>();
      const std::int64_t beyond = std::string(end) == "minimum" ? bound - 1 : bound + 1;
      for (const auto& [value, good] : {std::pair(bound, true), std::pair(beyond, false)}) {
        Json spec = base;
        if (path.to_string().starts_with("/autoscaling")) {
          spec["autoscaling"] = {{"minReplicas", 1}, {"maxReplicas", 10'000}};
        }
        spec[path] = value;
        Problems problems;
        const ModelServing serving =
            model_serving_from_json(object_with(spec), UnknownFields::kRefuse, problems);
        EXPECT_TRUE(problems.empty());
        EXPECT_EQ(validate(serving).empty(), good) << path << " = " << value;
      }
    }
  }
}

}  // namespace
}  // namespace kantha::serving
