#include "operator/serving/observe_cluster.h"

#include <algorithm>
#include <utility>

#include "operator/serving/bounded_text.h"
#include "operator/serving/children.h"
#include "operator/serving/pod_trouble.h"

namespace kantha::serving {
namespace {

using std::chrono::seconds;

/// A pod that ended within this time of its birth is replaced no sooner.
constexpr seconds kReplaceAfter{30};
/// How long a pod may be past its grace before its end counts as stuck.
constexpr seconds kStuckAfter{60};
constexpr std::size_t kHoldMessageMax = 1024;
constexpr std::size_t kHoldProblemsMax = 8;

/// Why a pod that claims to be `owner`'s is not; empty when it is.
std::string foreign_reason(const ClusterServing& owner, const PodObject& pod) {
  const std::string& name = owner.serving.metadata.name;
  if (pod.owner_uid.empty()) return "has no controlling owner";
  if (pod.owner_uid != owner.meta.uid) return "is controlled by " + pod.owner_name;
  if (pod.serving != name) return "has the label " + std::string(kLabelName) + "=" + pod.serving;
  if (pod.role != kRoleReplica) return "has the label " + std::string(kLabelRole) + "=" + pod.role;
  const auto ordinal = ordinal_of_pod_name(name, pod.name);
  if (!ordinal || std::to_string(*ordinal) != pod.ordinal) {
    return "has the label " + std::string(kLabelOrdinal) + "=" + pod.ordinal +
           ", which its name does not confirm";
  }
  return {};
}

std::string problem_text(const Problems& problems) {
  std::string out;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (!out.empty()) out += "; ";
    if (i == kHoldProblemsMax) {
      out += "and " + std::to_string(problems.size() - i) + " more";
      break;
    }
    out += (problems[i].path.empty() ? "" : problems[i].path + ": ") + problems[i].message;
  }
  return bounded_text(out, kHoldMessageMax);
}

class Observation {
 public:
  Observation(const ClusterServing& owner, const FactsByPod& facts, Moment at)
      : owner_(owner), facts_(facts), at_(at) {
    out_.observed.serving = owner.serving;
  }

  ClusterObservation take(const ClusterSettings& settings,
                          const std::vector<const PodObject*>& pods) {
    judge_spec(settings);
    for (const PodObject* pod : pods) {
      const std::string why = foreign_reason(owner_, *pod);
      if (why.empty()) {
        add(*pod);
      } else {
        add_foreign(*pod, why);
      }
    }
    auto& seen = out_.observed.pods;
    std::sort(seen.begin(), seen.end(),
              [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
    return std::move(out_);
  }

 private:
  void judge_spec(const ClusterSettings& settings) {
    if (!owner_.problems.empty()) {
      out_.hold_reason = "InvalidSpec";
      out_.hold_message = problem_text(owner_.problems);
    } else {
      out_.observed.target = cluster_revision_of(owner_.serving, settings);
    }
  }

  void add_foreign(const PodObject& pod, const std::string& why) {
    out_.foreign.push_back({pod.name, why});
    const auto ordinal = ordinal_of_pod_name(owner_.serving.metadata.name, pod.name);
    if (ordinal) out_.observed.blocked.push_back(*ordinal);
  }

  void look_again_at(WallTime time) {
    if (time <= at_.wall) return;
    if (!out_.look_again || time < *out_.look_again) out_.look_again = time;
  }

  const NodedFacts* facts_of(const PodObject& pod) const {
    const auto found = facts_.find(pod.uid);
    return found == facts_.end() ? nullptr : &found->second;
  }

  /// The revision that its engine is known to run; empty when unknown.
  std::string revision_of_engine(const PodObject& pod, const NodedFacts* facts) const {
    if (!pod.is_retold) return pod.born_revision;
    if (pod.verified_revision == pod.told_revision) return pod.told_revision;
    const bool config = facts != nullptr && !pod.engine_config_hash.empty() &&
                        facts->config_hash == pod.engine_config_hash;
    return config && runs_told_image(pod) ? pod.told_revision : std::string();
  }

  void add(const PodObject& pod) {
    const NodedFacts* facts = facts_of(pod);
    ObservedPod seen;
    seen.name = pod.name;
    seen.ordinal = *ordinal_of_pod_name(owner_.serving.metadata.name, pod.name);
    seen.pod_revision = pod.pod_revision;
    seen.told_revision = pod.told_revision;
    seen.revision = revision_of_engine(pod, facts);
    seen.terminating = pod.is_terminating();
    seen.ready = pod.ready && !pod.has_ended();
    if (facts != nullptr && !pod.has_ended()) {
      seen.draining = facts->draining;
      seen.streams = facts->streams;
    }
    note_trouble(pod, facts, seen);
    if (seen.terminating) {
      note_end(pod, seen);
    } else if (pod.has_ended()) {
      note_replacement(pod, seen);
    } else if (pod.noded.running && (seen.revision.empty() || is_fetching(seen))) {
      out_.to_ask.push_back(pod.name);
    } else if (pod.is_retold && !seen.revision.empty() &&
               pod.verified_revision != pod.told_revision) {
      out_.to_confirm.push_back(pod.name);
    }
    out_.any_ready = out_.any_ready || seen.ready;
    if (facts != nullptr && facts->weights && is_fetching(seen)) {
      out_.weights.push_back({pod.name, *facts->weights});
    }
    if (seen.ready && pod.is_protected && !seen.terminating) out_.to_release.push_back(pod.name);
    out_.observed.pods.push_back(std::move(seen));
  }

  /// Its noded brings the weights, and only it knows how far they are.
  bool is_fetching(const ObservedPod& pod) const {
    return owner_.serving.spec.model.source.http && !pod.ready && !pod.terminating;
  }

  void note_trouble(const PodObject& pod, const NodedFacts* facts, ObservedPod& seen) {
    PodTrouble trouble = pod_trouble(pod, at_.wall);
    if (trouble.look_again) look_again_at(*trouble.look_again);
    if (trouble.unschedulable && !seen.terminating) {
      if (out_.capacity.pods++ == 0) out_.capacity.message = pod.unschedulable_message;
    }
    seen.failing = trouble.failing;
    seen.message = std::move(trouble.message);
    if (seen.message.empty() && !seen.ready && facts != nullptr) seen.message = facts->message;
  }

  void note_end(const PodObject& pod, ObservedPod& seen) {
    const WallTime limit = *pod.deletion + kStuckAfter;
    seen.stuck = limit <= at_.wall;
    look_again_at(limit);
    if (!seen.stuck) return;
    seen.message = "should have ended long ago; its node " + pod.node +
                   " may be gone (when it is sure: kubectl delete pod --force)";
  }

  void note_replacement(const PodObject& pod, ObservedPod& seen) {
    const WallTime from = pod.created.value_or(WallTime{}) + kReplaceAfter;
    seen.replace_at = at_.now + std::max<Duration>(Duration(0), from - at_.wall);
    look_again_at(from);
  }

  const ClusterServing& owner_;
  const FactsByPod& facts_;
  Moment at_;
  ClusterObservation out_;
};

}  // namespace

NodedFacts noded_facts(const noded::PodState& state) {
  NodedFacts out;
  out.config_hash = state.config_hash;
  out.engine_ready = state.phase == noded::EnginePhase::kReady;
  out.draining = state.phase == noded::EnginePhase::kDraining;
  out.streams = state.streams;
  out.message = bounded_text(state.message, 512);
  out.weights = state.weights;
  return out;
}

ClusterObservation observe_cluster(const ClusterServing& owner, const ClusterSettings& settings,
                                   const std::vector<const PodObject*>& pods,
                                   const FactsByPod& facts, Moment at) {
  return Observation(owner, facts, at).take(settings, pods);
}

}  // namespace kantha::serving
