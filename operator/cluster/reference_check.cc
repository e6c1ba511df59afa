#include "operator/cluster/reference_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "operator/kube/api_fault.h"
#include "operator/serving/references.h"

namespace kantha::cluster {
namespace {

using serving::Reference;
using serving::ReferenceKind;
using serving::ReferenceNeed;

constexpr Duration kFirstPause = std::chrono::seconds(2);
constexpr Duration kPauseMax = std::chrono::minutes(1);

kube::Resource resource_of(ReferenceKind kind) {
  switch (kind) {
    case ReferenceKind::kSecret: return kube::kSecrets;
    case ReferenceKind::kConfigMap: return kube::kConfigMaps;
    case ReferenceKind::kClaim: return kPersistentVolumeClaims;
  }
  return kube::kSecrets;
}

bool all_ready(const serving::ClusterObservation& seen) {
  const auto& pods = seen.observed.pods;
  return static_cast<std::int64_t>(pods.size()) >= seen.observed.serving.replicas_or_default() &&
         std::all_of(pods.begin(), pods.end(), [](const auto& pod) { return pod.ready; });
}

using Sight = ObjectMemory::Sight;

bool is_due(const Sight& sight, bool ready, TimePoint now) {
  if (sight.is_missing) return now - sight.at >= sight.pause;
  return !ready && now - sight.at >= kPauseMax;
}

/// Looks once. What we may not read counts as there: the kubelet will know.
net::Task<Sight> look(Pass& pass, Reference reference, Sight before) {
  const Result<Json> live = co_await pass.tools.client.get(resource_of(reference.kind),
                                                           {pass.key.name_space, reference.name});
  Sight out{.at = pass.tools.clock.now()};
  if (live.ok()) co_return out;
  const kube::ApiFault fault = kube::fault_of(live.error());
  if (fault == kube::ApiFault::kNotFound) {
    out.is_missing = true;
    out.pause = before.is_missing ? std::min(before.pause * 2, kPauseMax) : kFirstPause;
  } else if (fault == kube::ApiFault::kForbidden) {
    log_debug("may not look", {{"what", reference.field}, {"error", live.error().message}});
  } else {
    out.is_missing = before.is_missing;
    out.pause = kFirstPause;
  }
  co_return out;
}

bool must_be_told(const Reference& reference, bool ready) {
  return reference.need != ReferenceNeed::kPull || !ready;
}

}  // namespace

net::Task<bool> check_references(Pass& pass, const serving::ClusterObservation& seen) {
  const bool ready = all_ready(seen);
  std::map<std::string, Sight> sights;
  bool is_complete = true;
  for (const Reference& reference :
       serving::references_of(pass.object->serving, pass.tools.settings.pods)) {
    const std::string key = std::string(resource_of(reference.kind).plural) + "/" + reference.name;
    const auto known = pass.memory.references.find(key);
    Sight sight = known == pass.memory.references.end() ? Sight{} : known->second;
    const bool is_new = known == pass.memory.references.end();
    if (is_new || is_due(sight, ready, pass.tools.clock.now())) {
      sight = co_await look(pass, reference, sight);
    }
    sights[key] = sight;
    if (!sight.is_missing) continue;
    pass.outcome.look_again(
        std::max<Duration>(sight.at + sight.pause - pass.tools.clock.now(), kFirstPause / 2));
    if (must_be_told(reference, ready)) {
      pass.outcome.add(serving::missing_reference(reference, pass.key.name_space));
    }
    is_complete = is_complete && reference.need != ReferenceNeed::kPods;
  }
  pass.memory.references = std::move(sights);
  co_return is_complete;
}

std::vector<serving::Action> without_replacements(const serving::ClusterObservation& seen,
                                                  const std::vector<serving::Action>& actions) {
  std::vector<serving::Action> out;
  for (const serving::Action& action : actions) {
    const bool takes = action.kind == serving::ActionKind::kDrainPod ||
                       action.kind == serving::ActionKind::kDeletePod;
    const auto pod =
        std::find_if(seen.observed.pods.begin(), seen.observed.pods.end(),
                     [&](const auto& candidate) { return candidate.name == action.pod; });
    const bool serves = pod != seen.observed.pods.end() && pod->ready;
    if (!(takes && serves && !action.is_surplus)) out.push_back(action);
  }
  return out;
}

}  // namespace kantha::cluster
