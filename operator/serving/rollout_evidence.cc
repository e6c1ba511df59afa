#include "operator/serving/rollout_evidence.h"

#include <algorithm>
#include <optional>

#include "operator/serving/plan_rollout.h"

namespace kantha::serving {
namespace {

/// So many looks in a row, seconds apart, tell what leaks from what is busy.
constexpr std::size_t kKvLooks = 4;
/// Pods that came and went within one bake.
constexpr std::size_t kEntriesMax = 4096;

}  // namespace

void RolloutEvidence::note_kv(Entry& entry, const KvLook& look) {
  if (look.at == TimePoint{} || (!entry.kv.empty() && entry.kv.back().at == look.at)) return;
  entry.kv.push_back(look);
  if (entry.kv.size() > kKvLooks) entry.kv.pop_front();
}

void RolloutEvidence::observe(const RolloutState& state, const std::vector<PodEvidence>& pods) {
  const std::string bake =
      is_judged(state) ? state.target + "/" + std::to_string(state.ring) : std::string();
  if (bake != bake_) entries_.clear();
  bake_ = bake;
  if (bake_.empty()) return;
  for (auto& [name, entry] : entries_) entry.is_there = false;
  for (const PodEvidence& pod : pods) {
    const auto known = entries_.find(pod.pod);
    const bool same_side =
        known != entries_.end() && known->second.is_on_target == pod.is_on_target;
    if (!same_side) {
      entries_[pod.pod] = {pod.incarnation, pod.is_on_target, pod.sample,
                           pod.sample,      pod.restarts,     pod.restarts};
      note_kv(entries_[pod.pod], pod.kv);
      continue;
    }
    Entry& entry = known->second;
    if (entry.incarnation != pod.incarnation) {
      // A noded that began anew while its pod baked is an end as an engine's is.
      const std::int64_t before = entry.restarts_last - entry.restarts_first;
      entry.incarnation = pod.incarnation;
      entry.first = {};
      entry.restarts_first = -before - 1;
    }
    // An engine that is another one begins with empty storage.
    if (entry.restarts_last != pod.restarts) entry.kv.clear();
    entry.last = pod.sample;
    entry.restarts_last = pod.restarts;
    entry.is_there = true;
    note_kv(entry, pod.kv);
  }
  if (entries_.size() > kEntriesMax) {
    std::erase_if(entries_, [](const auto& entry) { return !entry.second.is_there; });
  }
}

Evidence RolloutEvidence::evidence() const {
  Evidence out;
  for (const auto& [pod, entry] : entries_) {
    const bool ring = entry.is_on_target;
    (ring ? out.ring : out.control).merge(entry.last.since(entry.first));
    (ring ? out.ring_pods : out.control_pods) += entry.is_there ? 1 : 0;
    if (entry.is_there && entry.kv.size() == kKvLooks) {
      KvFloor floor{1, 1e9};
      for (const KvLook& look : entry.kv) {
        floor.share = std::min(floor.share, look.share);
        floor.share_each =
            std::min(floor.share_each, look.share / static_cast<double>(1 + look.streams));
      }
      std::optional<KvFloor>& most = ring ? out.ring_kv : out.control_kv;
      if (!most) most = KvFloor{};
      most->share = std::max(most->share, floor.share);
      most->share_each = std::max(most->share_each, floor.share_each);
    }
    (ring ? out.ring_restarts : out.control_restarts) += entry.restarts_last - entry.restarts_first;
  }
  return out;
}

}  // namespace kantha::serving
