#include "cli/cluster_view.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "operator/serving/children.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/last_status.h"
#include "operator/serving/pod_trouble.h"

namespace kantha::cli {
namespace {

std::vector<serving::PodObject> decode_pods(const std::vector<Json>& pods) {
  std::vector<serving::PodObject> out;
  for (const Json& json : pods) {
    Result<serving::PodObject> pod = serving::pod_object_from_json(json);
    if (pod.ok()) out.push_back(std::move(pod).value());
  }
  return out;
}

local::PodView pod_view_of(const serving::PodObject& pod, WallTime now) {
  local::PodView out;
  out.name = pod.name;
  out.phase = pod_phase_word(pod);
  out.message = serving::pod_trouble(pod, now).message;
  if (!pod.told_revision.empty()) out.revision = serving::short_revision(pod.told_revision);
  out.restarts = pod.noded.restarts + pod.engine.restarts;
  out.streams = local::kUnknownStreams;
  return out;
}

/// A field of one container of a pod, by the container's name.
std::string container_text(const Json& pod, std::string_view container, const char* field) {
  const Json::json_pointer path("/spec/containers");
  if (!pod.contains(path) || !pod.at(path).is_array()) return {};
  for (const Json& entry : pod.at(path)) {
    if (!entry.is_object() || entry.value("name", Json()) != std::string(container)) continue;
    const auto found = entry.find(field);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string();
  }
  return {};
}

/// The settings under which `pod` was made, if they lead to its own revision.
std::optional<serving::ClusterSettings> settings_from(const serving::ModelServing& serving,
                                                      const Json& pod,
                                                      const std::string& pod_revision) {
  serving::ClusterSettings out;
  out.noded_image = container_text(pod, serving::kContainerNoded, "image");
  out.engine_image = container_text(pod, serving::kContainerEngine, "image");
  const std::string policy = container_text(pod, serving::kContainerNoded, "imagePullPolicy");
  for (const std::string& candidate : {std::string(), policy}) {
    out.image_pull_policy = candidate;
    if (serving::cluster_revision_of(serving, out).pod == pod_revision) return out;
  }
  return std::nullopt;
}

/// The figures behind the last change of the count, as lines.
std::vector<std::string> last_arithmetic(const std::vector<serving::Decision>& decisions) {
  const auto last = std::find_if(decisions.rbegin(), decisions.rend(),
                                 [](const auto& made) { return made.kind == "Scale"; });
  if (last == decisions.rend()) return {};
  std::vector<std::string> out = {"at " + local::rfc3339(last->at) + " it went from " + last->from +
                                  " to " + last->to + ", by:"};
  constexpr std::string_view kBetween = "; ";
  std::string_view rest = last->inputs;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(kBetween), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + kBetween.size()));
  }
  return out;
}

/// Makes the newest pod's revision the target when the operator's settings can't be told from it.
std::string assume_target(const std::vector<serving::PodObject>& pods, const std::string& status,
                          serving::ClusterObservation& seen) {
  const std::string target = serving::last_status_of(status).target_revision;
  for (const serving::PodObject& pod : pods) {
    if (pod.told_revision.empty() || serving::short_revision(pod.told_revision) != target) continue;
    seen.observed.target = {pod.told_revision, pod.pod_revision};
    return "that the target is still " + target + ", as status says";
  }
  return "the operator's images, because no pod shows them";
}

}  // namespace

std::string pod_phase_word(const serving::PodObject& pod) {
  if (pod.is_terminating()) return "ending";
  if (pod.has_ended()) return "down";
  if (pod.ready) return "ready";
  const auto loops = [](const serving::ContainerState& container) {
    return container.waiting_reason == "CrashLoopBackOff";
  };
  if (loops(pod.engine) || loops(pod.noded)) return "crash_loop";
  if (pod.node.empty()) return "pending";
  return "starting";
}

Result<local::WorldView> cluster_world_view(const Json& object, const std::vector<Json>& pods,
                                            WallTime now) {
  TRY(const serving::ClusterServing owner, serving::cluster_serving_from_json(object));
  TRY(local::WorldView out, local::world_view_from_json(object));
  const kube::ObjectKey& key = owner.meta.key;
  out.counts.wanted = owner.serving.replicas_or_default();
  out.endpoint = "http://" + serving::service_name(key.name) + "." + key.name_space + ".svc";
  out.scaling = last_arithmetic(out.decisions);
  out.pods.clear();
  for (const serving::PodObject& pod : decode_pods(pods)) out.pods.push_back(pod_view_of(pod, now));
  std::sort(out.pods.begin(), out.pods.end(), [&](const auto& a, const auto& b) {
    const auto left = serving::ordinal_of_pod_name(key.name, a.name);
    const auto right = serving::ordinal_of_pod_name(key.name, b.name);
    return std::tie(left, a.name) < std::tie(right, b.name);
  });
  return out;
}

Result<PlanView> cluster_plan_view(const Json& object, const std::vector<Json>& pods,
                                   serving::Moment at) {
  TRY(const serving::ClusterServing owner, serving::cluster_serving_from_json(object));
  const std::vector<serving::PodObject> decoded = decode_pods(pods);
  std::vector<const serving::PodObject*> seen_pods;
  std::optional<serving::ClusterSettings> settings;
  const bool is_sound = owner.problems.empty();
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    seen_pods.push_back(&decoded[i]);
    if (settings || !is_sound || decoded.size() != pods.size()) continue;
    settings = settings_from(owner.serving, pods[i], decoded[i].pod_revision);
  }
  serving::ClusterObservation seen = serving::observe_cluster(
      owner, settings.value_or(serving::ClusterSettings{}), seen_pods, {}, at);
  PlanView out;
  if (!settings && is_sound) {
    out.assumption = assume_target(decoded, owner.status, seen);
    seen.rollout.good_revision.reset();  // of which nothing can be told without them
  }
  out.plan = serving::plan_cluster(owner, seen, at);
  return out;
}

}  // namespace kantha::cli
