#include "operator/serving/plan_workload.h"

#include <algorithm>
#include <set>

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
        wanted_(observed.serving.replicas_or_default()) {
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
  bool stays(const ObservedPod& pod) const { return pod.ordinal < wanted_; }
  bool leaving(const ObservedPod& pod) const { return pod.draining || pod.terminating; }

  void act(ActionKind kind, const ObservedPod& pod, std::string reason) {
    actions_.push_back({kind, pod.name, pod.ordinal, std::move(reason)});
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
    for (std::int64_t ordinal = 0; ordinal < wanted_; ++ordinal) {
      if (taken.contains(ordinal)) continue;
      actions_.push_back({ActionKind::kCreatePod, pod_name(observed_.serving, ordinal), ordinal,
                          std::to_string(wanted_) + " replicas wanted"});
    }
  }

  /// Pods that should serve and do not: missing, starting, restarting, draining, failing.
  std::int64_t unavailable_count() const {
    const auto serving = std::count_if(order_.begin(), order_.end(), [&](const ObservedPod* pod) {
      return stays(*pod) && is_available(*pod);
    });
    return wanted_ - serving;
  }

  void update_old_pods() {
    if (observed_.serving.spec.rollout.paused) return;
    std::int64_t budget = max_unavailable(observed_.serving) - unavailable_count();
    for (const ObservedPod* pod : order_) {
      if (!stays(*pod) || leaving(*pod) || pod->replace_at) continue;
      const bool replace = pod->pod_revision != observed_.target.pod;
      if (!replace && pod->told_revision == observed_.target.whole) continue;
      if (is_available(*pod)) {
        if (budget <= 0) continue;
        --budget;
      }
      update(*pod, replace);
    }
  }

  void update(const ObservedPod& pod, bool replace) {
    const std::string reason = "revision " + short_revision(observed_.target.whole);
    if (!replace) return act(ActionKind::kRestartEngine, pod, reason);
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
    for (const ObservedPod* pod : order_) {
      if (stays(*pod) || leaving(*pod) || pod->replace_at) continue;
      if (is_available(*pod)) {
        if (available <= wanted_) continue;
        --available;
      }
      end(*pod, std::to_string(wanted_) + " replicas wanted");
    }
  }

  const Observed& observed_;
  TimePoint now_;
  std::vector<Action>& actions_;
  std::int64_t wanted_;
  std::vector<const ObservedPod*> order_;
};

}  // namespace

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
  const std::int64_t wanted = observed.serving.replicas_or_default();
  return std::count_if(observed.pods.begin(), observed.pods.end(), [&](const ObservedPod& pod) {
    if (pod.ordinal >= wanted || pod.terminating || pod.replace_at) return false;
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
