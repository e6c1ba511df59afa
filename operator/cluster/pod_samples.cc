#include "operator/cluster/pod_samples.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/log.h"
#include "operator/cluster/gather.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr Duration kAskEvery = std::chrono::seconds(1);
constexpr std::size_t kAskedAtOnce = 256;

metricsapi::PodEntry entry_of(const serving::PodObject& pod) {
  metricsapi::PodEntry out;
  out.name = pod.name;
  out.serving = pod.serving;
  const OrderedJson labels = serving::child_labels(pod.serving);
  for (const auto& [key, value] : labels.items()) {
    if (value.is_string()) out.labels[key] = value.get<std::string>();
  }
  out.labels[serving::kLabelRole] = pod.role;
  out.labels[serving::kLabelOrdinal] = pod.ordinal;
  return out;
}

}  // namespace

std::optional<metricsapi::Sample> sample_of(const noded::PodState& state,
                                            const serving::PodObject& pod, TimePoint now) {
  const bool serves = state.phase == noded::EnginePhase::kReady && !state.draining &&
                      state.config_hash == pod.engine_config_hash && state.kv_blocks_total > 0;
  if (!serves) return std::nullopt;
  metricsapi::Sample out;
  out.values = {state.kv_pressure, static_cast<double>(state.waiting_tokens),
                static_cast<double>(state.streams), state.tokens_per_second};
  out.kv_blocks_total = static_cast<double>(state.kv_blocks_total);
  out.taken = now - std::chrono::milliseconds(std::max<std::int64_t>(0, state.age_ms));
  if (state.idle_ms >= 0) out.idle = std::chrono::milliseconds(state.idle_ms);
  out.heard = now;
  return out;
}

PodSamples::PodSamples(boost::asio::any_io_executor executor, const Clock& clock, PodDoor& door,
                       WorldStores& stores, SampleChoice choice)
    : clock_(clock),
      door_(door),
      stores_(stores),
      choice_(std::move(choice)),
      questions_(executor, "samples"),
      wake_(executor) {}

net::Task<void> PodSamples::ask(std::shared_ptr<const StoredPod> pod, PodAddress address) {
  ++asked_;
  const Result<noded::PodState> state = co_await door_.state(std::move(address));
  under_way_.erase(pod->meta.uid);
  if (!state.ok()) {
    ++failed_;
    log_debug("no sample", {{"pod", pod->meta.key.name}, {"error", state.error().to_string()}});
    co_return;
  }
  const metricsapi::PodEntry* known = table_.find(pod->meta.key.name_space, pod->meta.uid);
  if (known == nullptr) co_return;  // it has gone meanwhile
  metricsapi::PodEntry entry = *known;
  entry.sample = sample_of(*state, pod->pod, clock_.now());
  table_.put(pod->meta.key.name_space, pod->meta.uid, std::move(entry));
}

void PodSamples::look_at(const std::shared_ptr<const StoredPod>& stored,
                         const serving::ClusterServing& owner) {
  const serving::PodObject& pod = stored->pod;
  const metricsapi::PodEntry* known = table_.find(pod.name_space, pod.uid);
  metricsapi::PodEntry entry = entry_of(pod);
  if (known != nullptr && pod.takes_requests()) entry.sample = known->sample;
  table_.put(pod.name_space, pod.uid, std::move(entry));
  if (!pod.takes_requests() || questions_.running() >= kAskedAtOnce) return;
  if (!under_way_.insert(pod.uid).second) return;
  questions_.spawn(ask(stored, address_of(owner, pod)));
}

void PodSamples::look() {
  std::map<std::string, std::string> seen;
  for (const auto& scope : stores_.scopes()) {
    const auto look_at_pods = [&](const std::shared_ptr<const serving::ClusterServing>& owner) {
      for (const auto& stored : scope->pods.indexed(owner->meta.uid)) {
        const serving::PodObject& pod = stored->pod;
        if (pod.serving != owner->meta.key.name || pod.role != serving::kRoleReplica) continue;
        seen[pod.uid] = pod.name_space;
        look_at(stored, *owner);
      }
    };
    if (choice_.everybody) {
      scope->servings.for_each(look_at_pods);
    } else {
      for (const kube::ObjectKey& key : scope->scaled) {
        if (const auto owner = scope->servings.find(key)) look_at_pods(owner);
      }
    }
  }
  table_.keep_only(seen);
}

net::Task<void> PodSamples::run() {
  while (!stopping_) {
    if (choice_.may_ask()) look();
    if (!stopping_) co_await wake_.wait(kAskEvery);
  }
  co_await questions_.join();
}

void PodSamples::stop() {
  stopping_ = true;
  wake_.notify();
}

}  // namespace kantha::cluster
