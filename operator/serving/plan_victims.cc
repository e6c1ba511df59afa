#include "operator/serving/plan_victims.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <vector>

#include "operator/serving/plan_workload.h"

namespace kantha::serving {
namespace {

constexpr int kManyStreams = 63;
/// Of the KV cache that stays: more, and requests would wait or be put off.
constexpr double kBearable = 0.9;

bool is_leaving(const ObservedPod& pod) {
  return pod.draining || pod.terminating || pod.replace_at.has_value();
}

/// 0, 1, 2–3, 4–7, …: one stream more or less is no reason to lose a warm cache.
int streams_class(const ObservedPod& pod) {
  if (!pod.streams) return kManyStreams;
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(0, *pod.streams)));
}

int warmth_class(const ObservedPod& pod) {
  constexpr double kClasses = 10;
  return static_cast<int>(std::clamp(pod.warm.value_or(0), 0.0, 1.0) * kClasses);
}

/// Judges the pods of one observation.
class Worth {
 public:
  Worth(const Observed& observed, const std::optional<RevisionSplit>& split)
      : observed_(observed), split_(split), wanted_(observed.serving.replicas_or_default()) {
    for (const ObservedPod& pod : observed.pods) ++on_node_[pod.node];
  }

  /// The smallest goes first.
  auto of(const ObservedPod& pod) const {
    const std::int64_t mates = pod.node.empty() ? 0 : on_node_.at(pod.node) - 1;
    return std::tuple(is_in_ring(pod), !is_leaving(pod), is_available(pod), !pod.node_leaves,
                      is_as_assigned(pod), streams_class(pod), warmth_class(pod), mates,
                      -pod.ordinal);
  }

 private:
  bool is_on(const ObservedPod& pod, const Revision& revision) const {
    return pod.told_revision == revision.whole && pod.pod_revision == revision.pod;
  }
  bool is_tried() const { return split_ && split_->on_target > 0 && split_->on_target < wanted_; }
  bool is_in_ring(const ObservedPod& pod) const {
    return is_tried() && !pod.terminating && is_on(pod, observed_.target);
  }
  bool is_as_assigned(const ObservedPod& pod) const {
    if (is_tried()) return true;
    const bool goes_back = split_ && split_->on_target == 0;
    return is_on(pod, goes_back ? split_->last_good : observed_.target);
  }

  const Observed& observed_;
  const std::optional<RevisionSplit>& split_;
  std::int64_t wanted_;
  std::map<std::string, std::int64_t> on_node_;
};

}  // namespace

std::set<std::int64_t> kept_ordinals(const Observed& observed) {
  return kept_ordinals(observed, observed.split);
}

std::set<std::int64_t> kept_ordinals(const Observed& observed,
                                     const std::optional<RevisionSplit>& split) {
  const auto wanted =
      static_cast<std::size_t>(std::max<std::int64_t>(0, observed.serving.replicas_or_default()));
  std::set<std::int64_t> out;
  if (observed.pods.size() > wanted) {
    const Worth worth(observed, split);
    std::vector<const ObservedPod*> order;
    for (const ObservedPod& pod : observed.pods) order.push_back(&pod);
    std::sort(order.begin(), order.end(),
              [&](const auto* a, const auto* b) { return worth.of(*a) > worth.of(*b); });
    for (std::size_t i = 0; i < wanted; ++i) out.insert(order[i]->ordinal);
    return out;
  }
  for (const ObservedPod& pod : observed.pods) out.insert(pod.ordinal);
  for (std::int64_t ordinal = 0; out.size() < wanted; ++ordinal) out.insert(ordinal);
  return out;
}

bool others_bear(const Observed& observed, const std::set<std::string>& gone) {
  const ModelServing& serving = observed.serving;
  const std::int64_t wanted = serving.replicas_or_default();
  if (!serving.spec.autoscaling || wanted == 0) return true;
  if (wanted >= serving.spec.autoscaling->max_replicas) return true;
  KvDemand sum;
  for (const ObservedPod& pod : observed.pods) {
    if (!pod.kv || (!is_available(pod) && !is_leaving(pod))) continue;
    sum.wanted += pod.kv->wanted;
    if (is_available(pod) && !gone.contains(pod.name)) sum.blocks += pod.kv->blocks;
  }
  return sum.wanted <= kBearable * sum.blocks;
}

bool load_holds_surplus(const Observed& observed) {
  const std::set<std::int64_t> kept = kept_ordinals(observed);
  std::set<std::string> surplus;
  for (const ObservedPod& pod : observed.pods) {
    if (!kept.contains(pod.ordinal) && is_available(pod)) surplus.insert(pod.name);
  }
  return !surplus.empty() && !others_bear(observed, surplus);
}

std::optional<KvDemand> kv_demand(const noded::PodState& state) {
  if (state.kv_blocks_total <= 0) return std::nullopt;
  const auto blocks = static_cast<double>(state.kv_blocks_total);
  return KvDemand{std::max(0.0, state.kv_pressure) * blocks, blocks};
}

std::optional<double> warm_share(const noded::PodState& state) {
  if (state.kv_blocks_total <= 0) return std::nullopt;
  return static_cast<double>(state.kv_blocks_active + state.kv_blocks_cached) /
         static_cast<double>(state.kv_blocks_total);
}

}  // namespace kantha::serving
