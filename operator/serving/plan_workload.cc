#include "operator/serving/plan_workload.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "operator/serving/plan_victims.h"
#include "operator/serving/quantity.h"

namespace kantha::serving {
namespace {

/// One pass over the pods, highest ordinal first, as StatefulSets do.
class Pass {
 public:
  Pass(const Observed& observed, TimePoint now, std::vector<Action>& actions)
      : observed_(observed),
        now_(now),
        actions_(actions),
        wanted_(observed.serving.replicas_or_default()),
        kept_(kept_ordinals(observed)),
        on_target_(ordinals_on_target(observed)) {
    for (const ObservedPod& pod : observed.pods) order_.push_back(&pod);
    std::sort(order_.begin(), order_.end(),
              [](const auto* a, const auto* b) { return a->ordinal > b->ordinal; });
  }

  void run() {
    end_drained_pods();
    remove_ended_pods();
    create_missing_pods();
    update_old_pods();
    drain_surplus_pods();
  }

 private:
  bool stays(const ObservedPod& pod) const { return kept_.contains(pod.ordinal); }
  bool leaving(const ObservedPod& pod) const { return pod.draining || pod.terminating; }

  bool to_last_good(std::int64_t ordinal) const {
    return observed_.split && !on_target_.contains(ordinal);
  }
  const Revision& revision_for(std::int64_t ordinal) const {
    return to_last_good(ordinal) ? observed_.split->last_good : observed_.target;
  }

  bool waits_for_image(std::int64_t ordinal) const {
    return observed_.split && on_target_.contains(ordinal) &&
           observed_.split->not_yet.contains(ordinal);
  }

  void act(ActionKind kind, const ObservedPod& pod, std::string reason) {
    actions_.push_back({kind, pod.name, pod.ordinal, std::move(reason)});
    actions_.back().is_surplus = !stays(pod);
  }

  void end_drained_pods() {
    for (const ObservedPod* pod : order_) {
      if (!pod->draining || pod->terminating) continue;
      if (pod->streams == 0) {
        act(ActionKind::kDeletePod, *pod, "drained");
      } else if (pod->drain_deadline && *pod->drain_deadline <= now_) {
        act(ActionKind::kDeletePod, *pod, "drain deadline passed");
      }
    }
  }

  void remove_ended_pods() {
    for (const ObservedPod* pod : order_) {
      if (!pod->replace_at || leaving(*pod) || *pod->replace_at > now_) continue;
      act(ActionKind::kDeletePod, *pod,
          "it ended" + (pod->message.empty() ? "" : ": " + pod->message));
    }
  }

  void create_missing_pods() {
    std::set<std::int64_t> taken(observed_.blocked.begin(), observed_.blocked.end());
    for (const ObservedPod* pod : order_) taken.insert(pod->ordinal);
    for (const std::int64_t ordinal : kept_) {
      if (taken.contains(ordinal)) continue;
      actions_.push_back({ActionKind::kCreatePod, pod_name(observed_.serving, ordinal), ordinal,
                          std::to_string(wanted_) + " replicas wanted", to_last_good(ordinal)});
    }
  }

  /// Pods that should serve and do not: missing, starting, restarting, draining, failing.
  std::int64_t unavailable_count() const {
    const auto serving = std::count_if(order_.begin(), order_.end(), [&](const ObservedPod* pod) {
      return stays(*pod) && is_available(*pod);
    });
    return wanted_ - serving;
  }

  /// Ready for whoever sends requests, verified or not. One that was told what it is to run and has
  /// not confirmed it restarts: it does not count, however ready it still looks.
  bool may_serve(const ObservedPod& pod) const {
    if (!pod.ready || leaving(pod) || pod.replace_at) return false;
    const Revision& revision = revision_for(pod.ordinal);
    const bool told = pod.told_revision == revision.whole && pod.pod_revision == revision.pod;
    return is_available(pod) || !told;
  }

  std::int64_t serving_count(bool with_surplus) const {
    return std::count_if(order_.begin(), order_.end(), [&](const ObservedPod* pod) {
      return (with_surplus || stays(*pod)) && may_serve(*pod);
    });
  }

  void update_old_pods() {
    if (observed_.serving.spec.rollout.paused) return;
    const std::int64_t allowed = max_unavailable(observed_.serving);
    std::int64_t budget = allowed - unavailable_count();
    // For pods of which nobody knows yet what they run: they may serve and are no spare capacity.
    std::int64_t spare = serving_count(false) - (wanted_ - allowed);
    for (const ObservedPod* pod : order_) {
      if (!stays(*pod) || leaving(*pod) || pod->replace_at) continue;
      const Revision& revision = revision_for(pod->ordinal);
      if (waits_for_image(pod->ordinal)) continue;
      const bool replace = pod->pod_revision != revision.pod;
      if (!replace && pod->told_revision == revision.whole) continue;
      if (is_available(*pod)) {
        if (budget <= 0) continue;
        --budget;
      }
      if (may_serve(*pod)) {
        if (spare <= 0) continue;
        --spare;
      }
      update(*pod, replace);
    }
  }

  void update(const ObservedPod& pod, bool replace) {
    const std::string reason = "revision " + short_revision(revision_for(pod.ordinal).whole);
    if (!replace) {
      act(ActionKind::kRestartEngine, pod, reason);
      actions_.back().to_last_good = to_last_good(pod.ordinal);
      return;
    }
    end(pod, reason + " needs a new pod");
  }

  /// Drains a pod that may hold requests; deletes one that never did.
  void end(const ObservedPod& pod, std::string reason) {
    const bool idle = !pod.ready && pod.streams.value_or(0) == 0;
    act(idle ? ActionKind::kDeletePod : ActionKind::kDrainPod, pod, std::move(reason));
  }

  void drain_surplus_pods() {
    std::int64_t available = std::count_if(order_.begin(), order_.end(),
                                           [](const auto* pod) { return is_available(*pod); });
    std::int64_t serving = serving_count(true);
    const bool hold = observed_.split && observed_.split->hold_surplus && wanted_ > 0;
    std::set<std::string> gone;
    for (const ObservedPod* pod : order_) {
      if (stays(*pod) || leaving(*pod) || pod->replace_at) continue;
      if (is_available(*pod)) {
        if (available <= wanted_ || hold) continue;
        gone.insert(pod->name);
        if (!others_bear(observed_, gone)) {
          gone.erase(pod->name);
          continue;
        }
        --available;
      }
      if (may_serve(*pod)) {
        if (serving <= wanted_) continue;
        --serving;
      }
      end(*pod, std::to_string(wanted_) + " replicas wanted");
    }
  }

  const Observed& observed_;
  TimePoint now_;
  std::vector<Action>& actions_;
  std::int64_t wanted_;
  std::set<std::int64_t> kept_;
  std::set<std::int64_t> on_target_;
  std::vector<const ObservedPod*> order_;
};

bool is_on(const ObservedPod& pod, const Revision& revision) {
  return pod.pod_revision == revision.pod && pod.told_revision == revision.whole;
}

/// The order in which ordinals are moved to the target; the smallest first.
enum class MoveRank : std::uint8_t { kMoved, kServesNobody, kServes, kOutOfReach };

MoveRank move_rank(const Observed& observed, const ObservedPod& pod) {
  if (pod.stuck) return MoveRank::kOutOfReach;  // its name may be taken for hours
  if (is_on(pod, observed.target)) return MoveRank::kMoved;
  const bool serves = is_available(pod) && is_on(pod, observed.split->last_good);
  return serves ? MoveRank::kServes : MoveRank::kServesNobody;
}

}  // namespace

std::set<std::int64_t> ordinals_on_target(const Observed& observed) {
  const std::set<std::int64_t> kept = kept_ordinals(observed);
  std::map<std::int64_t, MoveRank> ranks;
  for (const std::int64_t ordinal : kept) ranks[ordinal] = MoveRank::kServesNobody;
  const auto wanted = static_cast<std::int64_t>(kept.size());
  std::int64_t count = wanted;
  if (observed.split) {
    std::int64_t moved = 0;
    for (const ObservedPod& pod : observed.pods) {
      const auto rank = ranks.find(pod.ordinal);
      if (rank == ranks.end()) continue;
      rank->second = move_rank(observed, pod);
      moved += rank->second == MoveRank::kMoved ? 1 : 0;
    }
    for (const std::int64_t ordinal : observed.blocked) {
      if (kept.contains(ordinal)) ranks[ordinal] = MoveRank::kOutOfReach;
    }
    count = std::clamp<std::int64_t>(observed.split->on_target, 0, wanted);
    // A rollout that is paused moves nobody more, also not by making lost pods anew.
    if (observed.serving.spec.rollout.paused) count = std::min(count, moved);
  }
  std::vector<std::pair<MoveRank, std::int64_t>> order;
  for (const auto& [ordinal, rank] : ranks) order.emplace_back(rank, ordinal);
  std::sort(order.begin(), order.end());
  std::set<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.insert(order[static_cast<std::size_t>(i)].second);
  return out;
}

bool was_told_target(const Observed& observed, const ObservedPod& pod) {
  return is_on(pod, observed.target);
}

bool runs_as_assigned(const Observed& observed) {
  const std::set<std::int64_t> on_target = ordinals_on_target(observed);
  return std::all_of(observed.pods.begin(), observed.pods.end(), [&](const ObservedPod& pod) {
    const bool last_good = observed.split && !on_target.contains(pod.ordinal);
    return is_available(pod) && is_on(pod, last_good ? observed.split->last_good : observed.target);
  });
}

bool is_available(const ObservedPod& pod) {
  // A pod that was told to restart counts as gone until it reports what it was told.
  return pod.ready && !pod.draining && !pod.terminating && !pod.replace_at &&
         pod.revision == pod.told_revision;
}

void plan_workload(const Observed& observed, TimePoint now, std::vector<Action>& actions) {
  Pass(observed, now, actions).run();
}

bool runs_target(const Observed& observed, const ObservedPod& pod) {
  return is_available(pod) && pod.pod_revision == observed.target.pod &&
         pod.revision == observed.target.whole;
}

std::int64_t count_outdated(const Observed& observed) {
  const std::set<std::int64_t> kept = kept_ordinals(observed);
  return std::count_if(observed.pods.begin(), observed.pods.end(), [&](const ObservedPod& pod) {
    if (!kept.contains(pod.ordinal) || pod.terminating || pod.replace_at) return false;
    const bool old_pod = pod.pod_revision != observed.target.pod;
    return old_pod || pod.told_revision != observed.target.whole ||
           (!pod.revision.empty() && pod.revision != observed.target.whole);
  });
}

std::int64_t max_unavailable(const ModelServing& serving) {
  return std::max<std::int64_t>(
      1, resolve(serving.spec.rollout.max_unavailable, serving.replicas_or_default()));
}

}  // namespace kantha::serving
