#include "tests/sim/sim_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/yaml_document.h"

namespace kantha::sim {
namespace {

constexpr const char* kUser = "user";

/// crds/…yaml, read once.
const Json& model_serving_definition() {
  static const Json definition = [] {
    const char* root = std::getenv("KANTHA_SOURCE_DIR");
    const std::string path =
        std::string(root == nullptr ? "." : root) + "/crds/serving.kantha.dev_modelservings.yaml";
    std::ifstream file(path);
    CHECK(file.good(), path.c_str());
    std::ostringstream text;
    text << file.rdbuf();
    const YamlText yaml = read_yaml(text.str());
    CHECK(yaml.problems.empty() && yaml.documents.size() == 1, "the definition is YAML");
    return yaml.documents[0].root;
  }();
  return definition;
}

fake::ServerOptions seeded(fake::ServerOptions options, std::uint64_t seed) {
  options.seed = seed;
  return options;
}

std::string object_path(const std::string& name) {
  return kube::kModelServings.object_path({"default", name});
}

}  // namespace

SimWorld::SimWorld(WorldOptions options)
    : options_(options),
      time_(context_, clock_),
      server_(context_.get_executor(), clock_, seeded(options.server, options.seed)),
      kubelets_(context_.get_executor(), server_, options.times, options.nodes),
      nodeds_(kubelets_),
      checks_(server_, kubelets_, options.limits),
      tasks_(context_.get_executor(), "world"),
      keeper_wakes_(context_.get_executor()) {
  set_log_level(std::getenv("KANTHA_SIM_LOG") == nullptr ? LogLevel::kError : LogLevel::kDebug);
  clock_.advance(std::chrono::hours(24 * 365 * 56));  // calendar times as people know them
  if (options_.real_definition) {
    server_.install(model_serving_definition());
  } else {
    server_.install_model_servings();
  }
  server_.store().on_change(
      [this](const fake::Table& table, const fake::Change& change, const fake::WriteRecord&) {
        if (table.kind.plural != "leases" && table.kind.plural != "events")
          last_write_ = change.time;
      });
  tasks_.spawn(server_.run_collector());
  tasks_.spawn(kubelets_.run());
}

SimWorld::~SimWorld() {
  stop_operators();
  server_.stop();
  kubelets_.stop();
  is_kept_ = false;
  keeper_wakes_.notify();
  time_.run_for(options_.server.collector_delay + std::chrono::hours(1));
}

OperatorRun& SimWorld::start_operator(const std::function<void(OperatorRun&)>& prepare) {
  cluster::OperatorSettings settings;
  settings.pods = {.noded_image = "example.com/noded:1",
                   .engine_image = "example.com/engine:1",
                   .image_pull_policy = "IfNotPresent"};
  settings.leader_elect = options_.leader_elect;
  settings.identity = fmt::format("operator-{}", runs_.size());
  runs_.push_back(std::make_shared<OperatorRun>(context_.get_executor(), clock_, server_, nodeds_,
                                                settings,
                                                random_bits(options_.seed, 1000 + runs_.size())));
  if (prepare) prepare(*runs_.back());
  OperatorRun::start(runs_.back(), tasks_);
  return *runs_.back();
}

net::Task<void> SimWorld::keep_running() {
  while (is_kept_) {
    if (runs_.empty() || runs_.back()->has_ended()) start_operator(prepare_);
    while (is_kept_ && !runs_.back()->has_ended()) co_await net::sleep_for(restart_delay_);
  }
}

void SimWorld::keep_operator(std::function<void(OperatorRun&)> prepare, Duration delay) {
  prepare_ = std::move(prepare);
  restart_delay_ = delay;
  if (!std::exchange(is_kept_, true)) tasks_.spawn(keep_running());
}

void SimWorld::stop_operators() {
  is_kept_ = false;
  for (const auto& run : runs_) run->stop();
  time_.run_for(std::chrono::minutes(2));
  for (const auto& run : runs_) run->kill();
  time_.run_for(std::chrono::minutes(2));
}

Json SimWorld::default_spec() {
  return {{"model", {{"source", {{"hostPath", "/models/smollm2.gguf"}}}}},
          {"engine", {{"config", {{"maxModelLen", 2048}, {"maxNumSeqs", 8}}}}},
          {"replicas", 2},
          {"drain", {{"timeoutSeconds", 30}}}};
}

net::HttpResponse SimWorld::ask(const std::string& method, const std::string& target,
                                const Json& body, const std::string& type) {
  net::HttpRequest request{.method = method, .target = target};
  request.headers.set("User-Agent", kUser);
  request.headers.set("Content-Type", type);
  if (!body.is_null()) request.body = dump_json(body);
  return server_.answer(request).response;
}

void SimWorld::create_serving(const std::string& name, const Json& spec_patch) {
  Json spec = default_spec();
  spec.merge_patch(spec_patch);
  server_.create(kube::kModelServings,
                 {{"apiVersion", "serving.kantha.dev/v1alpha1"},
                  {"kind", "ModelServing"},
                  {"metadata", {{"name", name}, {"namespace", "default"}}},
                  {"spec", spec}},
                 kUser);
}

int SimWorld::patch_serving(const std::string& name, const Json& patch) {
  return ask("PATCH", object_path(name), patch, "application/merge-patch+json").status;
}

void SimWorld::scale(const std::string& name, std::int64_t replicas) {
  ask("PATCH", object_path(name) + "/scale", {{"spec", {{"replicas", replicas}}}},
      "application/merge-patch+json");
}

void SimWorld::delete_serving(const std::string& name) {
  ask("DELETE", object_path(name), Json(), "application/json");
}

bool SimWorld::settle(Duration quiet, Duration limit) {
  const TimePoint end = clock_.now() + limit;
  last_write_ = clock_.now();
  while (clock_.now() < end) {
    const TimePoint wanted = last_write_ + quiet;
    if (clock_.now() >= wanted) return true;
    time_.run_until(std::min(wanted, end));
  }
  return clock_.now() >= last_write_ + quiet;
}

bool SimWorld::run_until(const std::function<bool()>& holds, Duration limit) {
  const TimePoint end = clock_.now() + limit;
  while (clock_.now() < end) {
    if (holds()) return true;
    time_.run_for(std::chrono::milliseconds(200));
  }
  return holds();
}

fake::ObjectPtr SimWorld::serving(const std::string& name) {
  return server_.find(kube::kModelServings, {"default", name});
}

std::vector<fake::ObjectPtr> SimWorld::pods(const std::string& serving) {
  std::vector<fake::ObjectPtr> found;
  for (const auto& pod : server_.all(kube::kPods, "default")) {
    const Json labels = (*pod)["metadata"].value("labels", Json::object());
    if (labels.value("serving.kantha.dev/name", "") == serving) found.push_back(pod);
  }
  return found;
}

namespace {

std::string condition_field(const fake::ObjectPtr& object, const std::string& type,
                            const char* field) {
  if (object == nullptr) return "";
  const Json status = object->value("status", Json::object());
  for (const Json& condition : status.value("conditions", Json::array())) {
    if (condition.value("type", "") == type) return condition.value(field, "");
  }
  return "";
}

}  // namespace

std::string SimWorld::condition(const std::string& name, const std::string& type) {
  return condition_field(serving(name), type, "status");
}

std::string SimWorld::condition_reason(const std::string& name, const std::string& type) {
  return condition_field(serving(name), type, "reason");
}

bool SimWorld::is_whole(const std::string& name) {
  const auto object = serving(name);
  if (object == nullptr) return false;
  const Json& spec = (*object)["spec"];
  const auto mine = pods(name);
  if (std::ssize(mine) != spec.value("replicas", std::int64_t{1})) return false;
  return std::all_of(mine.begin(), mine.end(), [&](const fake::ObjectPtr& pod) {
    const FakePod* running = kubelets_.find((*pod)["metadata"]["uid"]);
    return running != nullptr && running->is_serving() && running->run_config == told_config(*pod);
  });
}

std::string SimWorld::report() {
  std::string text;
  for (const std::string& failure : checks_.failures()) text += "  " + failure + "\n";
  return text + "last writes:\n" + checks_.recent_writes() +
         (runs_.empty() ? "" : cluster::debug_text(runs_.back()->real().debug_view()));
}

}  // namespace kantha::sim
