#include "operator/serving/observe_cluster.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "base/json_text.h"
#include "operator/serving/bounded_text.h"
#include "operator/serving/children.h"
#include "operator/serving/cluster_rules.h"
#include "operator/serving/plan_rollout.h"
#include "operator/serving/pod_trouble.h"

namespace kantha::serving {
namespace {

using std::chrono::seconds;

/// A pod that ended within this time of its birth is replaced no sooner.
constexpr seconds kReplaceAfter{30};
/// How long a pod may be past its grace before its end counts as stuck.
constexpr seconds kStuckAfter{60};
/// Pods that tokenise differently are asked again so often.
constexpr seconds kSkewAgain{30};
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
  Observation(const ClusterServing& owner, const FactsByPod& facts, Moment at, KnownTarget& known)
      : owner_(owner), facts_(facts), at_(at), known_(known) {
    out_.observed.serving = owner.serving;
    out_.last_status = status_from_text(owner.status);
  }

  ClusterObservation take(const ClusterSettings& settings,
                          const std::vector<const PodObject*>& pods) {
    judge_spec(settings);
    for (const PodObject* pod : pods) {
      if (is_image_pull(owner_, *pod)) {
        out_.pulls.push_back(image_pull_of(*pod, at_.wall));
        continue;
      }
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
    if (images_matter()) note_images(settings, pods);
    note_tokenizers(pods);
    return std::move(out_);
  }

 private:
  void judge_spec(const ClusterSettings& settings) {
    if (!owner_.problems.empty()) {
      out_.hold_reason = "InvalidSpec";
      out_.hold_message = problem_text(owner_.problems);
    } else {
      learn_target(settings);
      out_.observed.target = known_.revision;
      note_rollout(settings);
    }
  }

  void learn_target(const ClusterSettings& settings) {
    if (known_.generation == owner_.meta.generation && owner_.meta.generation > 0) return;
    known_.generation = owner_.meta.generation;
    known_.revision = cluster_revision_of(owner_.serving, settings);
    known_.spec_text =
        revision_spec_text(owner_.serving, engine_image_of(owner_.serving, settings));
    known_.spec_digest = std::hash<std::string>{}(known_.spec_text);
  }

  /// Whether the last good revision is of the target's spec; ten thousand texts are not kept twice.
  bool is_target_good(const RolloutState& state) {
    if (std::hash<std::string>{}(state.good_spec) != known_.spec_digest) return false;
    known_.spec_text = {};
    return true;
  }

  const std::string& target_spec_text(const ClusterSettings& settings) {
    if (known_.spec_text.empty()) {
      known_.spec_text =
          revision_spec_text(owner_.serving, engine_image_of(owner_.serving, settings));
    }
    return known_.spec_text;
  }

  void note_rollout(const ClusterSettings& settings) {
    RolloutView& view = out_.rollout;
    const auto rollout = out_.last_status.find("rollout");
    if (rollout != out_.last_status.end()) view.state = rollout_state_from_json(*rollout);
    if (is_target_good(view.state)) {
      // As nearly always: reading and judging that text would give what is here already.
      view.target_spec = view.state.good_spec;
      view.good = owner_;
      view.good->serving.spec.engine.image = engine_image_of(owner_.serving, settings);
      view.good_revision = out_.observed.target;
      return;
    }
    view.target_spec = target_spec_text(settings);
    if (rollout == out_.last_status.end()) return;
    const auto good = with_revision_spec(owner_.serving, view.state.good_spec);
    if (!good || !cluster_problems(*good).empty()) return;
    view.good = owner_;
    view.good->serving = *good;
    view.good_revision = cluster_revision_of(*good, settings);
  }

  /// Nothing of images matters where everything runs the last good revision.
  bool images_matter() const {
    const RolloutView& view = out_.rollout;
    return out_.hold_reason.empty() &&
           (view.state.phase != RolloutPhase::kDone || view.good_revision != out_.observed.target);
  }

  /// Which nodes have the target's image, and what its tag stands for.
  void note_images(const ClusterSettings& settings, const std::vector<const PodObject*>& pods) {
    const std::string& wanted = engine_image_of(owner_.serving, settings);
    const RolloutState& state = out_.rollout.state;
    const bool is_known = state.target == rollout_key(out_.observed.target);
    const std::string& by_digest = is_known ? state.image : wanted;
    // What was loaded onto nodes by hand may go by its tag only.
    const bool may_resolve = settings.image_pull_policy != "Never";
    std::map<std::string, std::string> failures;  // by node
    std::set<std::string> have;                   // nodes
    const auto note = [&](const std::string& node, const std::string& id) {
      have.insert(node);
      if (may_resolve && out_.rollout.image.empty())
        out_.rollout.image = image_by_digest(wanted, id);
    };
    for (const ImagePull& pull : out_.pulls) {
      if (pull.image != wanted && pull.image != by_digest) continue;
      if (pull.pulled) note(pull.node, pull.image_id);
      if (!pull.failure.empty()) failures[pull.node] = pull.failure;
    }
    for (const PodObject* pod : pods) {
      const ContainerState& engine = pod->engine;
      const bool same = is_same_image(wanted, engine) || is_same_image(by_digest, engine);
      const bool ours = pod->role == kRoleReplica && pod->owner_uid == owner_.meta.uid;
      if (same && ours && engine.running) note(pod->node, engine.image_id);
    }
    for (ObservedPod& pod : out_.observed.pods) {
      pod.lacks_image = !pod.node.empty() && !have.contains(pod.node);
      const auto failure = failures.find(pod.node);
      if (pod.lacks_image && failure != failures.end()) pod.pull_failure = failure->second;
    }
  }

  /// Pods of one revision are to tokenise alike; where they do not, their model files differ, or
  /// the engines under one tag. It is taken back when all of them were asked again.
  void note_tokenizers(const std::vector<const PodObject*>& pods) {
    std::map<std::string, std::map<std::string, std::string>> found;  // revision, digest → pods
    const bool was_skewed = said_skewed();
    if (facts_.empty() && !was_skewed) return;
    for (const PodObject* pod : pods) {
      if (pod->role != kRoleReplica || pod->owner_uid != owner_.meta.uid) continue;
      if (!pod->ready || pod->is_terminating() || pod->has_ended()) continue;
      const NodedFacts* facts = facts_of(*pod);
      const bool is_old = facts == nullptr || at_.now - facts->taken >= kSkewAgain;
      if (was_skewed && is_old) out_.to_ask.push_back(pod->name);
      if (facts == nullptr || facts->tokenizer_hash.empty()) continue;
      std::string& names = found[pod->told_revision][facts->tokenizer_hash];
      names += (names.empty() ? "" : ", ") + pod->name;
    }
    for (const auto& [revision, by_digest] : found) {
      if (by_digest.size() < 2) continue;
      std::string& text = out_.tokenizer_skew;
      text = "pods of " + short_revision(revision) + " differ in tokenizer or chat template:";
      for (const auto& [digest, names] : by_digest) {
        text += " " + names + " " + digest.substr(0, 12) + ";";
      }
      text = bounded_text(text + " see that their model files are the same", kHoldMessageMax);
    }
    if (was_skewed || !out_.tokenizer_skew.empty()) look_again_at(at_.wall + kSkewAgain);
  }

  bool said_skewed() const {
    const auto conditions = out_.last_status.find("conditions");
    if (conditions == out_.last_status.end() || !conditions->is_array()) return false;
    return std::ranges::any_of(*conditions, [](const Json& condition) {
      return condition.is_object() && text_at(condition, "type") == "Degraded" &&
             text_at(condition, "reason") == kTokenizerSkew;
    });
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
    seen.node = pod.node;
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
    const bool untested = note_golden(facts, seen);
    if (seen.terminating) {
      note_end(pod, seen);
    } else if (pod.has_ended()) {
      note_replacement(pod, seen);
    } else if (pod.noded.running && (seen.revision.empty() || is_fetching(seen) || untested)) {
      out_.to_ask.push_back(pod.name);
    } else if (pod.is_retold && !seen.revision.empty() &&
               pod.verified_revision != pod.told_revision) {
      out_.to_confirm.push_back({pod.name, pod.told_revision});
    }
    out_.any_ready = out_.any_ready || seen.ready;
    if (facts != nullptr && facts->weights && is_fetching(seen)) {
      out_.weights.push_back({pod.name, *facts->weights});
    }
    if (seen.ready && pod.is_protected && !seen.terminating) out_.to_release.push_back(pod.name);
    out_.observed.pods.push_back(std::move(seen));
  }

  /// True while it has to be asked what came of its golden prompts; it takes part once that is
  /// known.
  bool note_golden(const NodedFacts* facts, ObservedPod& seen) const {
    if (owner_.serving.spec.rollout.gates.golden_prompts_config_map.empty()) return false;
    if (facts != nullptr && facts->golden && facts->golden->failed > 0) {
      seen.wrong_output = facts->golden->message;
    }
    // A noded without the flag was made before there were prompts.
    const bool known = facts != nullptr && (!facts->golden || facts->golden->done);
    if (known || !seen.ready) return false;
    seen.ready = false;
    seen.message = "its golden prompts are asked";
    return true;
  }

  /// Its noded brings the weights, and only it knows how far they are.
  bool is_fetching(const ObservedPod& pod) const {
    return owner_.serving.spec.model.source.http && !pod.ready && !pod.terminating;
  }

  void note_trouble(const PodObject& pod, const NodedFacts* facts, ObservedPod& seen) {
    PodTrouble trouble = pod_trouble(pod, at_.wall);
    if (trouble.look_again) look_again_at(*trouble.look_again);
    if (trouble.unschedulable && !seen.terminating) {
      if (out_.capacity.pods++ == 0) {
        out_.capacity.message = pod.unschedulable_message;
        out_.capacity.pod = pod.name;
        out_.capacity.uid = pod.uid;
      }
    }
    seen.failing = trouble.failing;
    seen.waits_for_node = trouble.unschedulable || pod.node.empty();
    const bool by_kubelet =
        trouble.failing && !trouble.unschedulable && !pod.has_ended() && !is_old_trouble(pod);
    seen.crash_looping = by_kubelet && !seen.terminating;
    seen.message = std::move(trouble.message);
    if (seen.message.empty() && !seen.ready && facts != nullptr) seen.message = facts->message;
  }

  /// What a pod's engine did before the pod was told what it is to run now, as far as the kubelet
  /// still speaks of it.
  static bool is_old_trouble(const PodObject& pod) {
    constexpr std::int64_t kLoopRestarts = 3;
    if (!pod.is_retold) return false;
    const ContainerState& engine = pod.engine;
    if (is_image_trouble(engine.waiting_reason)) {
      // The message names the image. Nothing has started from it, so that restarts do not tell
      // whether it is of now.
      return engine.waiting_message.find(pod.engine_image) == std::string::npos;
    }
    // Who was told by an older operator has the deadline of its rollout.
    if (!pod.told_at) return true;
    return engine.restarts - *pod.told_at < (engine.waiting_reason.empty() ? kLoopRestarts : 1);
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
  KnownTarget& known_;
  ClusterObservation out_;
};

}  // namespace

double kv_share_of(const noded::PodState& state) {
  if (state.kv_blocks_total <= 0) return 0;
  return static_cast<double>(state.kv_blocks_active) / static_cast<double>(state.kv_blocks_total);
}

NodedFacts noded_facts(const noded::PodState& state) {
  NodedFacts out;
  out.config_hash = state.config_hash;
  out.engine_ready = state.phase == noded::EnginePhase::kReady;
  out.draining = state.phase == noded::EnginePhase::kDraining;
  out.streams = state.streams;
  out.message = bounded_text(state.message, 512);
  out.weights = state.weights;
  out.sample = state.sample;
  out.golden = state.golden;
  out.tokenizer_hash = bounded_text(state.tokenizer_hash, 64);
  out.engine_restarts = state.engine_restarts;
  out.kv_share = kv_share_of(state);
  out.kv_streams = state.streams;
  return out;
}

ClusterObservation observe_cluster(const ClusterServing& owner, const ClusterSettings& settings,
                                   const std::vector<const PodObject*>& pods,
                                   const FactsByPod& facts, Moment at, KnownTarget* known) {
  KnownTarget found;
  return Observation(owner, facts, at, known == nullptr ? found : *known).take(settings, pods);
}

}  // namespace kantha::serving
