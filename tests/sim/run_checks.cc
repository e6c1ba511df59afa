#include "tests/sim/run_checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace kantha::sim {
namespace {

constexpr const char* kToldRevision = "serving.kantha.dev/told-revision";
constexpr std::size_t kRecent = 120;  ///< writes in a report
constexpr Duration kMinute = std::chrono::minutes(1);
/// How long an older, lower need may explain a deed of ours.
constexpr Duration kNeedMemory = std::chrono::seconds(90);

bool is_ours(const std::string& manager) { return manager.starts_with("kantha-operator"); }

std::string told_of(const Json& object) {
  return object.at("metadata").value("annotations", Json::object()).value(kToldRevision, "");
}

bool is_marked(const Json& object) { return object.at("metadata").contains("deletionTimestamp"); }

bool is_ready(const Json& pod) {
  for (const Json& condition :
       pod.value("status", Json::object()).value("conditions", Json::array())) {
    if (condition.value("type", "") == "Ready") return condition.value("status", "") == "True";
  }
  return false;
}

const Json* controller_of(const Json& object) {
  static thread_local Json owner;
  for (const Json& entry : object.at("metadata").value("ownerReferences", Json::array())) {
    if (!entry.value("controller", false)) continue;
    owner = entry;
    return &owner;
  }
  return nullptr;
}

/// Of a pod that serves.
std::string serving_path(const Json& pod) {
  const Json labels = pod["metadata"].value("labels", Json::object());
  if (labels.value("serving.kantha.dev/role", "") == "pull") return "";
  const Json* owner = controller_of(pod);
  if (owner == nullptr || owner->value("kind", "") != "ModelServing") return "";
  return pod["metadata"].value("namespace", "") + "/" + owner->value("name", "");
}

std::int64_t replicas_of(const Json& serving) {
  const Json& spec = serving.at("spec");
  if (spec.value("replicas", Json()).is_number()) return spec["replicas"];
  return spec.value("autoscaling", Json::object()).value("minReplicas", std::int64_t{1});
}

/// replicas - maxUnavailable: how many must stay available through our own deeds.
std::int64_t needed_of(const Json& serving) {
  if (is_marked(serving)) return 0;
  const std::int64_t replicas = replicas_of(serving);
  std::int64_t spare = 1;
  const Json rollout = serving.at("spec").value("rollout", Json::object());
  if (const auto given = rollout.find("maxUnavailable"); given != rollout.end()) {
    if (given->is_number()) spare = given->get<std::int64_t>();
    if (given->is_string()) {
      spare = replicas * std::atoll(given->get<std::string>().c_str()) / 100;
    }
  }
  return std::max<std::int64_t>(replicas - std::max<std::int64_t>(spare, 1), 0);
}

}  // namespace

RunChecks::RunChecks(fake::FakeApiServer& server, const FakeKubelets& kubelets, CheckLimits limits)
    : server_(server), kubelets_(kubelets), limits_(limits) {
  server_.store().on_change(
      [this](const fake::Table& table, const fake::Change& change,
             const fake::WriteRecord& record) { saw(table, change, record); });
}

void RunChecks::fail(const std::string& sentence) {
  if (!told_.insert(sentence).second) return;
  const Duration now = server_.store().clock().now().time_since_epoch();
  failures_.push_back(
      fmt::format("at {:.2f}: {}", std::chrono::duration<double>(now).count(), sentence));
}

void RunChecks::saw(const fake::Table& table, const fake::Change& change,
                    const fake::WriteRecord& record) {
  const std::string& plural = table.kind.plural;
  if (plural == "modelservings") check_serving_write(change, record);
  if (plural == "pods") check_pod_write(change, record);
  if (is_ours(record.manager) && plural != "leases" && plural != "events") {
    ++our_writes_;
    check_rate(record);
  }
}

void RunChecks::check_rate(const fake::WriteRecord& record) {
  minute_.push_back(record.time);
  while (record.time - minute_.front() > kMinute) minute_.pop_front();
  const auto objects = static_cast<std::int64_t>(user_specs_.size());
  const std::int64_t bound = limits_.writes_per_minute +
                             limits_.writes_per_minute_each * std::max<std::int64_t>(objects, 1);
  if (std::ssize(minute_) > bound) {
    fail(fmt::format("more than {} writes in a minute, the last one {} {} {}", bound, record.verb,
                     record.plural, record.path));
    minute_.clear();
  }
}

void RunChecks::check_serving_write(const fake::Change& change, const fake::WriteRecord& record) {
  if (change.after == nullptr) {
    user_specs_.erase(change.path);
    needed_[change.path].emplace_back(change.time, 0);
    return;
  }
  const Json& after = *change.after;
  auto& needs = needed_[change.path];
  needs.emplace_back(change.time, needed_of(after));
  while (needs.size() > 1 && change.time - needs[1].first > kNeedMemory) needs.pop_front();
  if (!is_ours(record.manager)) {
    user_specs_[change.path] = after.value("spec", Json::object());
    return;
  }
  if (change.before == nullptr) {
    fail("the operator made a ModelServing: " + change.path);
    return;
  }
  const Json& before = *change.before;
  if (before.value("spec", Json()) != after.value("spec", Json())) {
    fail("the operator changed a spec: " + change.path);
  }
  for (const char* part : {"labels", "annotations", "ownerReferences"}) {
    if (before["metadata"].value(part, Json()) != after["metadata"].value(part, Json())) {
      fail(fmt::format("the operator changed metadata.{} of {}", part, change.path));
    }
  }
  const std::int64_t observed =
      after.value("status", Json::object()).value("observedGeneration", std::int64_t{0});
  if (observed > after["metadata"].value("generation", std::int64_t{0})) {
    fail("observedGeneration is ahead of generation: " + change.path);
  }
}

void RunChecks::track_availability(const Json& pod, bool is_gone) {
  const std::string uid = pod["metadata"]["uid"];
  if (is_gone) {
    unavailable_since_.erase(uid);
    taken_.erase(uid);
    return;
  }
  if (is_ready(pod) && !is_marked(pod)) {
    unavailable_since_.erase(uid);
  } else {
    unavailable_since_.emplace(uid, server_.store().clock().now());
  }
}

void RunChecks::check_pod_write(const fake::Change& change, const fake::WriteRecord& record) {
  const Json& shown = *change.shown;
  if (is_ours(record.manager) && change.before != nullptr) {
    const Json& before = *change.before;
    const bool is_deed = !is_marked(before) && is_ready(before);
    const bool deleted = change.after == nullptr || is_marked(shown);
    if (is_deed && deleted) check_budget(before, "deleted");
    if (is_deed && !deleted && told_of(before) != told_of(shown)) {
      check_budget(before, "restarted");
      taken_.insert(shown["metadata"]["uid"].get<std::string>());
    }
  }
  track_availability(shown, change.after == nullptr);
}

void RunChecks::check_budget(const Json& pod, const std::string& deed) {
  const std::string serving = serving_path(pod);
  const auto& needs = needed_[serving];
  if (serving.empty() || needs.empty()) return;
  std::int64_t needed = needs.back().second;
  for (const auto& [time, count] : needs) needed = std::min(needed, count);
  const std::string uid = pod["metadata"]["uid"];
  const TimePoint now = server_.store().clock().now();
  std::int64_t left = 0;
  const std::string name_space = pod["metadata"]["namespace"];
  for (const auto& other : server_.all(kube::kPods, name_space)) {
    const std::string other_uid = (*other)["metadata"]["uid"];
    if (other_uid == uid || is_marked(*other) || serving_path(*other) != serving) continue;
    const FakePod* running = kubelets_.find(other_uid);
    const bool is_back = running != nullptr && running->engine_ready &&
                         running->run_config == running->config &&
                         running->config == told_config(*other);
    const bool is_taken = taken_.contains(other_uid) && !is_back;
    if (is_taken) continue;
    const auto since = unavailable_since_.find(other_uid);
    if (since == unavailable_since_.end() || now - since->second <= limits_.unseen) ++left;
  }
  if (left < needed) {
    fail(fmt::format("{} {} while only {} of {} needed pods of {} stay available", deed,
                     pod["metadata"]["name"].get<std::string>(), left, needed, serving));
  }
}

void RunChecks::check_owners(const fake::Table& table, const Json& object) {
  const Json& metadata = object["metadata"];
  const std::string name = table.kind.kind + " " + fake::ObjectStore::path_of(object);
  int controllers = 0;
  for (const Json& owner : metadata.value("ownerReferences", Json::array())) {
    if (owner.value("controller", false)) ++controllers;
    if (!server_.store().find_uid(owner.value("uid", ""))) fail(name + " is orphaned");
  }
  if (controllers > 1) fail(name + " has two controllers");
  const std::string keeper =
      metadata.value("labels", Json::object()).value("app.kubernetes.io/managed-by", "");
  if (keeper == "kantha-operator" && controllers == 0) fail(name + " has no controller");
}

void RunChecks::check_end() {
  for (fake::Table* table : server_.store().tables()) {
    if (!table->kind.is_namespaced || table->kind.plural == "modelservings") continue;
    if (table->kind.plural == "events" || table->kind.plural == "leases") continue;
    for (const auto& [path, stored] : table->objects) check_owners(*table, *stored.json);
  }
  for (const auto& serving : server_.all(kube::kModelServings)) {
    const std::string path = fake::ObjectStore::path_of(*serving);
    const auto wanted = user_specs_.find(path);
    if (wanted != user_specs_.end() && wanted->second != serving->value("spec", Json::object())) {
      fail("a user's write to " + path + " is lost");
    }
  }
}

std::string RunChecks::recent_writes() const {
  std::string text;
  const auto& writes = server_.writes();
  const std::size_t begin = writes.size() > kRecent ? writes.size() - kRecent : 0;
  for (std::size_t i = begin; i < writes.size(); ++i) {
    const auto& write = writes[i];
    const double seconds = std::chrono::duration<double>(write.time.time_since_epoch()).count();
    text +=
        fmt::format("  {:9.2f} {} {} {} {}{}{}\n", seconds, write.manager, write.verb, write.plural,
                    write.path, write.subresource.empty() ? "" : "/", write.subresource);
  }
  return text;
}

namespace {

void scrub(Json& value) {
  static const std::set<std::string> dropped = {"uid",
                                                "resourceVersion",
                                                "creationTimestamp",
                                                "lastTransitionTime",
                                                "managedFields",
                                                "generation",
                                                "observedGeneration",
                                                "startedAt",
                                                "podIP",
                                                "podIPs",
                                                "nodeName",
                                                "clusterIP",
                                                "clusterIPs",
                                                "restartCount",
                                                "lastState",
                                                "at",
                                                "time",
                                                "since"};
  if (value.is_array()) {
    for (Json& element : value) scrub(element);
  }
  if (!value.is_object()) return;
  for (auto item = value.begin(); item != value.end();) {
    if (dropped.contains(item.key())) {
      item = value.erase(item);
    } else {
      scrub(*item);
      ++item;
    }
  }
}

}  // namespace

namespace {

/// Gives pods the names of a fleet that was never scaled in: which of them went is no difference.
std::map<std::string, Json> with_plain_ordinals(std::map<std::string, Json> state) {
  constexpr const char* kOrdinal = "serving.kantha.dev/ordinal";
  const Json::json_pointer labels("/metadata/labels");
  std::map<std::string, std::map<int, std::string>> fleets;  ///< paths by object and ordinal
  for (const auto& [path, object] : state) {
    if (!path.starts_with("Pod ") || !object.contains(labels)) continue;
    const std::string ordinal = object.at(labels).value(kOrdinal, "");
    const bool is_named = !ordinal.empty() && path.ends_with("-" + ordinal);
    if (!is_named || ordinal.find_first_not_of("0123456789") != std::string::npos) continue;
    fleets[path.substr(0, path.size() - ordinal.size())][std::stoi(ordinal)] = path;
  }
  for (const auto& [stem, pods] : fleets) {
    int next = 0;
    for (const auto& [ordinal, path] : pods) {
      const std::string name = stem + std::to_string(next);
      const std::string plain = name.substr(name.find_last_of("/ ") + 1);
      std::string text = dump_json(state.extract(path).mapped());
      const std::string old = "\"" + path.substr(path.find_last_of("/ ") + 1) + "\"";
      for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; ++at) {
        text.replace(at, old.size(), "\"" + plain + "\"");
      }
      Json object = Json::parse(text);
      object["metadata"]["labels"][kOrdinal] = std::to_string(next++);
      state.emplace(name, std::move(object));
    }
  }
  return state;
}

}  // namespace

std::map<std::string, Json> end_state(fake::FakeApiServer& server) {
  std::map<std::string, Json> state;
  for (fake::Table* table : server.store().tables()) {
    const std::string& plural = table->kind.plural;
    if (!table->kind.is_namespaced || plural == "events" || plural == "leases") continue;
    for (const auto& [path, stored] : table->objects) {
      Json object = *stored.json;
      scrub(object);
      if (plural == "secrets") object.erase("data");
      if (plural == "pods") {
        // How a pod came to its revision may differ; what it was told and runs may not.
        for (const char* name : {"born-revision", "retold-from", "verified-revision", "spared",
                                 "image-told-at-restart", "told-at-restart"}) {
          object["metadata"]["annotations"].erase(std::string("serving.kantha.dev/") + name);
        }
      }
      if (plural == "modelservings" && object.contains("status")) {
        object["status"].erase("decisions");
        object["status"].erase("rollout");  // what was good before, and since when
        object["status"].erase("taking");
      }
      state.emplace(table->kind.kind + " " + path, std::move(object));
    }
  }
  return with_plain_ordinals(std::move(state));
}

std::vector<std::string> state_differences(const std::map<std::string, Json>& expected,
                                           const std::map<std::string, Json>& got) {
  std::vector<std::string> lines;
  for (const auto& [name, object] : expected) {
    const auto found = got.find(name);
    if (found == got.end()) {
      lines.push_back(name + " is missing");
    } else if (found->second != object) {
      lines.push_back(name + " differs: " + dump_json(Json::diff(object, found->second)));
    }
  }
  for (const auto& [name, object] : got) {
    if (!expected.contains(name)) lines.push_back(name + " should not be there");
  }
  return lines;
}

}  // namespace kantha::sim
