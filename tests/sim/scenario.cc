#include "tests/sim/scenario.h"

#include <algorithm>

#include "base/check.h"

namespace kantha::sim {
namespace {

constexpr const char* kService = "a";

Step make(Json spec = Json::object()) {
  return {"make", [spec](SimWorld& world) { world.create_serving(kService, spec); }};
}

Step patch(std::string name, Json spec) {
  return {std::move(name),
          [spec](SimWorld& world) { world.patch_serving(kService, {{"spec", spec}}); }};
}

Step scale(std::int64_t replicas) {
  return {"scale to " + std::to_string(replicas),
          [replicas](SimWorld& world) { world.scale(kService, replicas); }};
}

Step drop() {
  return {"delete", [](SimWorld& world) { world.delete_serving(kService); }};
}

Step image_that(std::string name, ImageBehaviour behaviour) {
  return {"image " + name, [=](SimWorld& world) { world.kubelets().set_image(name, behaviour); }};
}

Step lose_child(const kube::Resource& resource, std::string name) {
  return {"somebody deletes " + name, [resource, name](SimWorld& world) {
            world.server().remove(resource, {"default", name}, "somebody");
          }};
}

std::vector<Scenario> make_scenarios() {
  const Json other_config = {{"engine", {{"config", {{"maxNumSeqs", 16}}}}}};
  const Json other_image = {{"engine", {{"image", "example.com/engine:2"}}}};
  const Json bad_image = {{"engine", {{"image", "example.com/engine:none"}}}};
  const Json crash_image = {{"engine", {{"image", "example.com/engine:crash"}}}};
  const Json own_image = {{"engine", {{"image", nullptr}}}};
  const Json more_memory = {{"resources", {{"memory", "6Gi"}}}};
  return {
      {"make and delete", {make(), drop()}},
      {"scale up and down", {make({{"replicas", 1}}), scale(3), scale(1)}},
      {"to zero and back", {make(), scale(0), scale(2)}},
      {"new engine config", {make({{"replicas", 3}}), patch("config", other_config)}},
      {"new engine image", {make(), patch("image", other_image)}},
      {"new pods", {make({{"replicas", 3}}), patch("memory", more_memory)}},
      {"everything at once",
       {make(), patch("config and memory", {{"engine", {{"config", {{"maxNumSeqs", 16}}}}},
                                            {"resources", {{"memory", "6Gi"}}},
                                            {"replicas", 3}})}},
      {"bad image and back",
       {image_that("example.com/engine:none", {.pulls = false}), make(),
        patch("bad image", bad_image), patch("back", own_image)}},
      {"crashing image and back",
       {image_that("example.com/engine:crash", {.crashes = true}), make(),
        patch("crashing image", crash_image), patch("back", own_image)}},
      {"lost children",
       {make(), lose_child(kube::kServices, "a"), lose_child(kube::kPods, "a-0"),
        lose_child(kube::kServiceAccounts, "a")}},
      {"made anew", {make(), drop(), make({{"replicas", 1}})}},
      {"two objects",
       {make({{"replicas", 1}}),
        {"another", [](SimWorld& world) { world.create_serving("b"); }},
        drop()}},
  };
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = make_scenarios();
  return all;
}

const Scenario& scenario(const std::string& name) {
  const auto found = std::find_if(scenarios().begin(), scenarios().end(),
                                  [&](const Scenario& story) { return story.name == name; });
  CHECK(found != scenarios().end(), name.c_str());
  return *found;
}

Telling tell(const Scenario& story, WorldOptions options,
             const std::function<void(OperatorRun&)>& prepare,
             const std::function<void(SimWorld&)>& mend) {
  const Duration quiet = options.quiet;
  SimWorld world(options);
  world.keep_operator(prepare);
  Telling telling;
  for (const Step& step : story.steps) {
    step.act(world);
    if (!world.settle(quiet)) telling.failures.push_back("did not settle after: " + step.name);
  }
  if (mend) {
    mend(world);
    if (!world.settle(quiet)) telling.failures.push_back("did not settle at the end");
  }
  telling.calls = world.first().transport().call_count();
  world.checks().check_end();
  const auto& failures = world.checks().failures();
  telling.failures.insert(telling.failures.end(), failures.begin(), failures.end());
  telling.end = end_state(world.server());
  telling.report = world.report();
  return telling;
}

std::vector<std::string> divergence(const Telling& expected, const Telling& got) {
  std::vector<std::string> lines = got.failures;
  for (std::string& line : state_differences(expected.end, got.end)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace kantha::sim
