#include "operator/cluster/gather.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/net/task_group.h"
#include "operator/serving/cluster_revision.h"

namespace kantha::cluster {
namespace {

using PodPtr = std::shared_ptr<const StoredPod>;

constexpr Duration kAskAgain = std::chrono::seconds(1);
constexpr Duration kPushAgain = std::chrono::seconds(10);
constexpr std::size_t kAskedAtOnce = 16;

serving::ClusterObservation observe(const Pass& pass, const std::vector<PodPtr>& pods) {
  std::vector<const serving::PodObject*> seen;
  for (const PodPtr& pod : pods) seen.push_back(&pod->pod);
  const serving::Moment at{pass.tools.clock.now(), pass.tools.clock.wall_now()};
  return serving::observe_cluster(*pass.object, pass.tools.settings.pods, seen, pass.memory.facts,
                                  at);
}

/// Forgets pods that are gone.
void trim_memory(ObjectMemory& memory, const std::vector<PodPtr>& pods) {
  std::set<std::string> uids;
  for (const PodPtr& pod : pods) uids.insert(pod->meta.uid);
  std::erase_if(memory.facts, [&](const auto& entry) { return !uids.contains(entry.first); });
  std::erase_if(memory.pushed, [&](const auto& entry) { return !uids.contains(entry.first); });
}

net::Task<void> push_again(Pass& pass, const serving::PodObject& pod,
                           const serving::Revision& target) {
  // An older text than the target's is not ours to have any more: the planner will tell anew.
  if (pod.told_revision != target.whole || target.whole.empty()) co_return;
  const TimePoint now = pass.tools.clock.now();
  const auto last = pass.memory.pushed.find(pod.uid);
  if (last != pass.memory.pushed.end() && now - last->second < kPushAgain) co_return;
  pass.memory.pushed[pod.uid] = now;
  const Status pushed = co_await pass.tools.door.push_config(
      address_of(*pass.object, pod), serving::cluster_engine_config(pass.object->serving));
  if (!pushed.ok()) {
    log_debug("noded took no config", {{"pod", pod.name}, {"error", pushed.error().to_string()}});
  }
}

net::Task<void> ask(Pass& pass, PodPtr stored, serving::Revision target) {
  const serving::PodObject& pod = stored->pod;
  const Result<noded::PodState> state =
      co_await pass.tools.door.state(address_of(*pass.object, pod));
  if (!state.ok()) {
    log_debug("noded does not answer", {{"pod", pod.name}, {"error", state.error().to_string()}});
    co_return;
  }
  serving::NodedFacts facts = serving::noded_facts(*state);
  const bool runs_told = facts.config_hash == pod.engine_config_hash;
  // These are true for the moment only, and the facts are kept.
  facts.draining = false;
  facts.streams = 0;
  pass.memory.facts[pod.uid] = std::move(facts);
  if (!runs_told && pass.tools.client.may_write()) co_await push_again(pass, pod, target);
}

net::Task<void> ask_all(Pass& pass, std::vector<PodPtr> pods, serving::Revision target) {
  for (std::size_t first = 0; first < pods.size(); first += kAskedAtOnce) {
    const auto executor = co_await boost::asio::this_coro::executor;
    net::TaskGroup group(executor, "questions");
    const std::size_t end = std::min(pods.size(), first + kAskedAtOnce);
    for (std::size_t i = first; i < end; ++i) group.spawn(ask(pass, pods[i], target));
    co_await group.join();
  }
}

}  // namespace

PodAddress address_of(const serving::ClusterServing& owner, const serving::PodObject& pod) {
  return {{pod.name_space, pod.name}, pod.ip, owner.meta.key.name, owner.meta.uid};
}

std::vector<PodPtr> pods_of(const Scope& scope, const serving::ClusterServing& object) {
  std::vector<PodPtr> out = scope.pods.indexed(object.meta.uid);
  std::set<std::string> known;
  for (const PodPtr& pod : out) known.insert(pod->meta.uid);
  for (PodPtr& pod : scope.pods.indexed(label_index_key(object.meta.key))) {
    if (known.insert(pod->meta.uid).second) out.push_back(std::move(pod));
  }
  // Owners are in the namespace of what they own; anything else is a forgery.
  std::erase_if(out, [&](const PodPtr& pod) {
    return pod->meta.key.name_space != object.meta.key.name_space;
  });
  return out;
}

net::Task<serving::ClusterObservation> gather(Pass& pass) {
  const std::vector<PodPtr> pods = pods_of(pass.scope, *pass.object);
  trim_memory(pass.memory, pods);
  pass.tools.fleet.observe(*pass.object, pods);
  pass.planned.clear();
  for (const PodPtr& pod : pods) pass.planned[pod->meta.key.name] = pod->meta.resource_version;
  serving::ClusterObservation seen = observe(pass, pods);
  if (!seen.to_ask.empty() && !pass.object->is_deleting()) {
    std::vector<PodPtr> asked;
    for (const PodPtr& pod : pods) {
      if (std::find(seen.to_ask.begin(), seen.to_ask.end(), pod->meta.key.name) !=
          seen.to_ask.end()) {
        asked.push_back(pod);
      }
    }
    co_await ask_all(pass, std::move(asked), seen.observed.target);
    seen = observe(pass, pods);
    if (!seen.to_ask.empty()) pass.outcome.look_again(kAskAgain);
  }
  if (seen.look_again) {
    const Duration wait = *seen.look_again - pass.tools.clock.wall_now();
    pass.outcome.look_again(std::max<Duration>(wait, std::chrono::milliseconds(100)));
  }
  co_return seen;
}

}  // namespace kantha::cluster
