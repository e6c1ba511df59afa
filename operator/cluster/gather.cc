#include "operator/cluster/gather.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/net/task_group.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/plan_rollout.h"
#include "operator/serving/plan_victims.h"
#include "operator/serving/plan_workload.h"

namespace kantha::cluster {
namespace {

using PodPtr = std::shared_ptr<const StoredPod>;

constexpr Duration kAskAgain = std::chrono::seconds(1);
constexpr Duration kPushAgain = std::chrono::seconds(10);
constexpr std::size_t kAskedAtOnce = 16;
constexpr Duration kJudgeEvery = std::chrono::seconds(5);
constexpr std::size_t kJudgedOfASide = 64;
/// What node autoscalers say of pods that wait.
constexpr Duration kNewsAgain = std::chrono::seconds(30);
/// While there are more pods than are wanted: what they hold changes without an event.
constexpr Duration kChooseAgain = std::chrono::seconds(5);

serving::ClusterObservation observe(Pass& pass, const std::vector<PodPtr>& pods) {
  std::vector<const serving::PodObject*> seen;
  for (const PodPtr& pod : pods) seen.push_back(&pod->pod);
  const std::vector<PodPtr> pulls = pulls_of(pass.scope, *pass.object);
  for (const PodPtr& pull : pulls) seen.push_back(&pull->pod);
  const serving::Moment at{pass.tools.clock.now(), pass.tools.clock.wall_now()};
  return serving::observe_cluster(*pass.object, pass.tools.settings.pods, seen, pass.memory.facts,
                                  at, &pass.memory.target);
}

/// Forgets pods that are gone.
void trim_memory(ObjectMemory& memory, const std::vector<PodPtr>& pods) {
  std::set<std::string> uids;
  for (const PodPtr& pod : pods) uids.insert(pod->meta.uid);
  std::erase_if(memory.facts, [&](const auto& entry) { return !uids.contains(entry.first); });
  std::erase_if(memory.pushed, [&](const auto& entry) { return !uids.contains(entry.first); });
}

/// The configuration of the revision that a pod was told; nullopt where it is not ours to have any
/// more: the planner will tell anew.
std::optional<std::string> config_told(const Pass& pass, const serving::PodObject& pod,
                                       const serving::ClusterObservation& seen) {
  const std::string& target = seen.observed.target.whole;
  if (!target.empty() && pod.told_revision == target) {
    return serving::cluster_engine_config(pass.object->serving);
  }
  const serving::RolloutView& rollout = seen.rollout;
  if (rollout.good && pod.told_revision == rollout.good_revision->whole) {
    return serving::cluster_engine_config(rollout.good->serving);
  }
  return std::nullopt;
}

net::Task<void> push_again(Pass& pass, const serving::PodObject& pod,
                           const serving::ClusterObservation& seen) {
  const std::optional<std::string> config = config_told(pass, pod, seen);
  if (!config) co_return;
  const TimePoint now = pass.tools.clock.now();
  const auto last = pass.memory.pushed.find(pod.uid);
  if (last != pass.memory.pushed.end() && now - last->second < kPushAgain) co_return;
  pass.memory.pushed[pod.uid] = now;
  const Status pushed =
      co_await pass.tools.door.push_config(address_of(*pass.object, pod), *config);
  if (!pushed.ok()) {
    log_debug("noded took no config", {{"pod", pod.name}, {"error", pushed.error().to_string()}});
  }
}

net::Task<void> ask(Pass& pass, PodPtr stored, const serving::ClusterObservation& seen) {
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
  facts.taken = pass.tools.clock.now();
  pass.memory.facts[pod.uid] = std::move(facts);
  if (!runs_told && pass.tools.client.may_write()) co_await push_again(pass, pod, seen);
}

net::Task<void> ask_all(Pass& pass, std::vector<PodPtr> pods,
                        const serving::ClusterObservation& seen) {
  for (std::size_t first = 0; first < pods.size(); first += kAskedAtOnce) {
    const auto executor = co_await boost::asio::this_coro::executor;
    net::TaskGroup group(executor, "questions");
    const std::size_t end = std::min(pods.size(), first + kAskedAtOnce);
    for (std::size_t i = first; i < end; ++i) group.spawn(ask(pass, pods[i], seen));
    co_await group.join();
  }
}

/// Ready pods whose answers judge a ring; the first ones of a large fleet are enough.
std::vector<std::string> judged_pods(Pass& pass, const serving::ClusterObservation& seen) {
  std::vector<std::string> out;
  if (!serving::is_judged(seen.rollout.state)) {
    pass.memory.judged_at.reset();
    return out;
  }
  pass.outcome.look_again(kJudgeEvery);
  const TimePoint now = pass.tools.clock.now();
  if (pass.memory.judged_at && now - *pass.memory.judged_at < kJudgeEvery) return out;
  pass.memory.judged_at = now;
  std::size_t ring = 0;
  std::size_t control = 0;
  for (const serving::ObservedPod& pod : seen.observed.pods) {
    if (!serving::is_available(pod)) continue;
    std::size_t& count = serving::was_told_target(seen.observed, pod) ? ring : control;
    if (count++ < kJudgedOfASide) out.push_back(pod.name);
  }
  return out;
}

std::vector<PodPtr> pods_to_ask(Pass& pass, const std::vector<PodPtr>& pods,
                                const serving::ClusterObservation& seen) {
  if (pass.object->is_deleting()) return {};
  const std::vector<std::string> judged = judged_pods(pass, seen);
  std::set<std::string> names(judged.begin(), judged.end());
  names.insert(seen.to_ask.begin(), seen.to_ask.end());
  std::vector<PodPtr> out;
  for (const PodPtr& pod : pods) {
    if (names.contains(pod->meta.key.name)) out.push_back(pod);
  }
  return out;
}

/// Facts are kept between questions, so that pods that were not asked this time do not count twice.
void gather_evidence(Pass& pass, const std::vector<PodPtr>& pods,
                     const serving::ClusterObservation& seen) {
  std::map<std::string, const serving::ObservedPod*> available;
  for (const serving::ObservedPod& pod : seen.observed.pods) {
    if (serving::is_available(pod)) available[pod.name] = &pod;
  }
  std::vector<serving::PodEvidence> out;
  for (const PodPtr& pod : pods) {
    const auto facts = pass.memory.facts.find(pod->meta.uid);
    const auto known = available.find(pod->meta.key.name);
    if (facts == pass.memory.facts.end() || known == available.end()) continue;
    out.push_back({pod->meta.uid,
                   std::to_string(pod->pod.noded.restarts),
                   serving::was_told_target(seen.observed, *known->second),
                   facts->second.sample,
                   facts->second.engine_restarts,
                   {facts->second.taken, facts->second.kv_share, facts->second.kv_streams}});
  }
  pass.memory.evidence.observe(seen.rollout.state, out);
}

/// More pods than are wanted, and it has to be chosen which of them go.
bool has_a_choice(const Pass& pass, const serving::ClusterObservation& seen) {
  const std::int64_t wanted = pass.object->serving.replicas_or_default();
  const auto& pods = seen.observed.pods;
  const auto staying = std::count_if(pods.begin(), pods.end(), [](const auto& pod) {
    return !pod.terminating && !pod.replace_at;
  });
  return wanted > 0 && staying > wanted && !pass.object->is_deleting() && seen.hold_reason.empty();
}

net::Task<void> weigh(Pass& pass, PodPtr stored, serving::ObservedPod& seen) {
  const Result<noded::PodState> state =
      co_await pass.tools.door.state(address_of(*pass.object, stored->pod));
  if (!state.ok()) co_return;
  seen.streams = state->streams;
  seen.warm = serving::warm_share(*state);
  seen.kv = serving::kv_demand(*state);
}

/// What pods hold, asked just before some of them are chosen to go.
net::Task<void> weigh_pods(Pass& pass, const std::vector<PodPtr>& pods,
                           serving::ClusterObservation& seen) {
  std::map<std::string, serving::ObservedPod*> asked;
  for (serving::ObservedPod& pod : seen.observed.pods) {
    if (serving::is_available(pod) || pod.terminating) asked[pod.name] = &pod;
  }
  const auto executor = co_await boost::asio::this_coro::executor;
  net::TaskGroup group(executor, "weighing");
  for (const PodPtr& pod : pods) {
    const auto found = asked.find(pod->meta.key.name);
    if (found == asked.end()) continue;
    group.spawn(weigh(pass, pod, *found->second));
    if (group.running() >= kAskedAtOnce) co_await group.join();
  }
  co_await group.join();
}

/// Which pods are on nodes that are about to be taken away.
net::Task<void> look_at_nodes(Pass& pass, serving::ClusterObservation& seen) {
  std::set<std::string> nodes;
  for (const serving::ObservedPod& pod : seen.observed.pods) {
    if (!pod.node.empty() && !pod.terminating) nodes.insert(pod.node);
  }
  const std::set<std::string> marked = co_await pass.tools.nodes.marked(std::move(nodes));
  for (serving::ObservedPod& pod : seen.observed.pods) {
    pod.node_leaves = marked.contains(pod.node);
  }
}

/// Whether a node is on its way for pods that wait for one. Who may not read events is not told.
net::Task<void> look_for_scale_up(Pass& pass, serving::CapacityNeed& need) {
  std::optional<ObjectMemory::NodeNews>& known = pass.memory.node_news;
  if (need.pods == 0) {
    known.reset();
    co_return;
  }
  const TimePoint now = pass.tools.clock.now();
  if (!known || known->uid != need.uid || now - known->at >= kNewsAgain) {
    kube::ListOptions options;
    options.field_selector = "involvedObject.kind=Pod,involvedObject.name=" + need.pod;
    const Result<kube::ObjectPage> page =
        co_await pass.tools.client.list(kube::kEvents, pass.key.name_space, std::move(options));
    ObjectMemory::NodeNews news{need.uid, {}, now};
    if (page.ok()) {
      news.news = serving::scale_up_news(page->items, need.uid);
    } else {
      log_debug("no news of nodes", {{"pod", need.pod}, {"error", page.error().to_string()}});
    }
    known = std::move(news);
  }
  // From when they were asked for: passes for other reasons put it off no further.
  pass.outcome.look_again(known->at + kNewsAgain - now);
  need.news = known->news;
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
    return pod->meta.key.name_space != object.meta.key.name_space ||
           serving::is_image_pull(object, pod->pod);
  });
  return out;
}

std::vector<PodPtr> pulls_of(const Scope& scope, const serving::ClusterServing& object) {
  std::vector<PodPtr> out = scope.pods.indexed(object.meta.uid);
  std::erase_if(out, [&](const PodPtr& pod) {
    return pod->meta.key.name_space != object.meta.key.name_space ||
           !serving::is_image_pull(object, pod->pod);
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
  const std::vector<PodPtr> asked = pods_to_ask(pass, pods, seen);
  if (!asked.empty()) {
    co_await ask_all(pass, asked, seen);
    seen = observe(pass, pods);
    if (!seen.to_ask.empty()) pass.outcome.look_again(kAskAgain);
  }
  gather_evidence(pass, pods, seen);
  co_await look_for_scale_up(pass, seen.capacity);
  if (has_a_choice(pass, seen)) {
    co_await weigh_pods(pass, pods, seen);
    co_await look_at_nodes(pass, seen);
    pass.outcome.look_again(kChooseAgain);
  }
  if (seen.look_again) {
    const Duration wait = *seen.look_again - pass.tools.clock.wall_now();
    pass.outcome.look_again(std::max<Duration>(wait, std::chrono::milliseconds(100)));
  }
  co_return seen;
}

}  // namespace kantha::cluster
