#include "operator/serving/plan_rollout.h"

#include <algorithm>
#include <set>
#include <utility>

#include "operator/serving/plan_victims.h"
#include "operator/serving/plan_workload.h"
#include "operator/serving/quantity.h"
#include "operator/serving/ring_images.h"
#include "operator/serving/rollout_window.h"
#include "operator/serving/timestamp.h"

namespace kantha::serving {
namespace {

using std::chrono::seconds;

/// A bake without enough evidence is prolonged so often by its own length.
constexpr std::int64_t kExtensionsMax = 2;
constexpr std::int64_t kWholePercent = 100;

std::string count_text(std::int64_t count, const char* one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

bool is_under_way(RolloutPhase phase) {
  return phase == RolloutPhase::kPreparing || phase == RolloutPhase::kSwapping ||
         phase == RolloutPhase::kBaking || phase == RolloutPhase::kPaused;
}

/// One pass over the state machine; at most one transition of phase.
class Advance {
 public:
  Advance(const RolloutState& before, const RolloutInput& input, WallTime now)
      : input_(input),
        observed_(input.observed),
        rollout_(input.observed.serving.spec.rollout),
        wanted_(input.observed.serving.replicas_or_default()),
        key_(rollout_key(input.observed.target)),
        now_(std::chrono::floor<seconds>(now)) {
    out_.state = before;
    kept_ = kept_ordinals(observed_, split());
  }

  RolloutStep take() {
    if (!input_.last_good) {
      watch_the_first();
    } else if (*input_.last_good == observed_.target) {
      settle();
    } else {
      const bool is_new = state().target != key_ || state().phase == RolloutPhase::kNone ||
                          state().phase == RolloutPhase::kDone;
      if (is_new) begin();
      advance();
    }
    note_image();
    out_.split = split();
    see_to_images();
    return std::move(out_);
  }

 private:
  RolloutState& state() { return out_.state; }
  const RolloutState& state() const { return out_.state; }
  std::string target_name() const { return short_revision(observed_.target.whole); }
  std::string good_name() const { return short_revision(input_.last_good->whole); }

  void tell(bool is_warning, std::string reason, std::string message) {
    out_.events.push_back({is_warning, std::move(reason), std::move(message)});
  }

  void enter(RolloutPhase phase, std::string message) {
    state().phase = phase;
    state().since = now_;
    state().message = std::move(message);
  }

  // The pods that are on the target, or on the way to it.

  bool is_member(const ObservedPod& pod) const {
    return kept_.contains(pod.ordinal) && !pod.terminating && was_told_target(observed_, pod);
  }
  std::int64_t member_count() const {
    return std::count_if(observed_.pods.begin(), observed_.pods.end(),
                         [&](const ObservedPod& pod) { return is_member(pod); });
  }
  std::int64_t available_count() const {
    return std::count_if(observed_.pods.begin(), observed_.pods.end(), [&](const ObservedPod& pod) {
      return is_member(pod) && is_available(pod);
    });
  }
  std::int64_t allowed_count() const {
    // The size is still that of the ring before, of which the first one has none.
    if (state().phase == RolloutPhase::kPreparing && state().ring == 0) return 0;
    return state().ring_size == 0 ? wanted_ : std::min(state().ring_size, wanted_);
  }
  bool ring_is_complete() const { return wanted_ > 0 && available_count() >= allowed_count(); }

  // Without a revision to go back to.

  /// The first revision that all pods run is the first good one.
  void watch_the_first() {
    if (state().target != key_ || state().phase != RolloutPhase::kNone) {
      state() = {};
      state().target = key_;
      state().since = now_;
    }
    if (wanted_ > 0 && available_count() >= wanted_) become_good();
  }

  /// What a tag meant when the first pod ran it is what it means for this rollout.
  void note_image() {
    if (state().target == key_ && state().image.empty()) state().image = input_.image;
    const bool is_good = !input_.last_good || *input_.last_good == observed_.target;
    if (is_good && state().phase == RolloutPhase::kDone) state().good_image = state().image;
  }

  void become_good() {
    if (state().good_spec != input_.target_spec) state().older_spec = state().good_spec;
    state().good_spec = input_.target_spec;
    state().good_image = state().image;
    state().last_good = target_name();
    state().target = key_;
    leave_ring();
    enter(RolloutPhase::kDone, target_name() + " runs everywhere");
  }

  void leave_ring() {
    state().ring = state().ring_size = state().extensions = 0;
    state().ring_name.clear();
    state().progress.clear();
    state().progress_at = {};
    end_image_wait(state());
  }

  /// The spec asks for what is known to be good.
  void settle() {
    if (state().phase == RolloutPhase::kDone && state().target == key_) return;
    if (is_under_way(state()) || state().phase == RolloutPhase::kRollingBack) {
      tell(false, "RolloutCancelled", "the spec went back to " + good_name());
    }
    leave_ring();
    state().target = key_;
    state().image = state().good_image;
    state().last_good = good_name();
    state().verdict.clear();
    enter(RolloutPhase::kDone, "the spec asks for " + good_name() + ", the last good revision");
  }

  // From the last good revision to the target.

  void begin() {
    leave_ring();
    state().target = key_;
    state().image.clear();
    state().last_good = good_name();
    state().verdict.clear();
    if (may_begin_a_ring() || is_promoted("*")) return start();
    enter(RolloutPhase::kWaiting, target_name() + " " + window_text());
    tell(false, "RolloutWaits", state().message);
  }

  void start() {
    tell(false, "RolloutStarted", "from " + good_name() + " to " + target_name());
    enter_ring(0);
  }

  bool may_begin_a_ring() const { return window_is_open(rollout_.windows, now_); }

  std::string window_text() const {
    const auto next = next_window(rollout_.windows, now_);
    return "waits for the window of " + (next ? timestamp_text(*next) : "no day");
  }

  /// A person let a ring, or with "*" all of them, pass without gates and windows.
  bool is_promoted(const std::string& ring) const {
    return rollout_.promote == target_name() + "/" + ring;
  }

  std::int64_t size_of_ring(std::int64_t index) const {
    const IntOrPercent& size = rollout_.rings[static_cast<std::size_t>(index)].size;
    if (size.percent && size.value >= kWholePercent) return 0;
    return std::max<std::int64_t>(1, resolve(size, std::max<std::int64_t>(1, wanted_)));
  }

  /// The first ring from `index` on that has more pods than have moved already.
  void enter_ring(std::int64_t index) {
    const auto count = static_cast<std::int64_t>(rollout_.rings.size());
    const std::int64_t before = index == 0 ? 0 : state().ring_size;
    while (index + 1 < count && size_of_ring(index) != 0 && size_of_ring(index) <= before) ++index;
    state().ring = index;
    state().extensions = 0;
    state().ring_name = count == 0 ? "" : rollout_.rings[static_cast<std::size_t>(index)].name;
    state().progress.clear();
    state().progress_at = now_;
    end_image_wait(state());
    const auto lacking = std::ssize(images_of(next_size()).lacking_nodes());
    if (lacking == 0 || is_in_between()) return begin_swapping();
    enter(RolloutPhase::kPreparing,
          ring_text() + ": the image is pulled on " + count_text(lacking, "node") + " first");
    tell(false, "RingPreparing", state().message);
  }

  /// A pod was told an earlier target. Such pods move first, and now: sent back for the time of a
  /// pull they would restart twice, and while their kubelets are behind look as if they never had.
  bool is_in_between() const {
    return std::any_of(observed_.pods.begin(), observed_.pods.end(), [&](const ObservedPod& pod) {
      const bool is_good = pod.told_revision == input_.last_good->whole;
      return kept_.contains(pod.ordinal) && !pod.terminating && !is_good && !is_member(pod);
    });
  }

  std::string ring_text() const {
    return state().ring_name.empty() ? std::string("all pods") : "ring " + state().ring_name;
  }

  /// Of the ring that is about to begin; 0: all pods.
  std::int64_t next_size() const {
    const auto count = static_cast<std::int64_t>(rollout_.rings.size());
    if (count == 0) return 0;
    const std::int64_t before = state().ring == 0 ? 0 : state().ring_size;
    const std::int64_t size = size_of_ring(std::min(state().ring, count - 1));
    return size == 0 ? 0 : std::max(size, before);
  }

  void begin_swapping() {
    state().ring_size = next_size();
    state().progress.clear();
    state().progress_at = now_;
    enter(RolloutPhase::kSwapping, ring_text() + " to " + target_name());
  }

  // Images, which are on the nodes before their pods are told.

  RingImages images_of(std::int64_t ring_size) const {
    return ring_images(observed_, {*input_.last_good, ring_size == 0 ? wanted_ : ring_size});
  }
  /// Of the ring that is prepared, else of that at work.
  RingImages images_of_ring() const {
    return images_of(state().phase == RolloutPhase::kPreparing ? next_size() : state().ring_size);
  }

  void prepare_ring() {
    if (rollout_.paused || wanted_ == 0) return;
    const RingImages images = images_of_ring();
    if (images.lacking.empty()) return begin_swapping();
    const WallTime began = state().since;
    if (now_ - began < deadline()) return;
    tell_not_pulled("begins", images);
    begin_swapping();
    state().image_wait_since = began;
  }

  void tell_not_pulled(const char* what_it_does, const RingImages& images) {
    tell(true, "ImageNotPulled",
         ring_text() + " " + what_it_does + " without it: node " + images.lacking.front()->node +
             " has not pulled the image within " + std::to_string(deadline().count()) + " s");
  }

  seconds deadline() const { return seconds(rollout_.progress_deadline_seconds); }

  /// Which nodes pull, and which pods are told later for that. After all else, as it looks at where
  /// the rollout is now: pods may come into a ring that has begun, with replicas or for lost ones.
  void see_to_images() {
    if (!is_under_way(state().phase)) return;
    const RingImages images = images_of_ring();
    out_.keep_pulled = images.nodes;
    if (rollout_.paused) return end_image_wait(state());  // a pause is nobody's delay
    for (const std::string& node : images.lacking_nodes()) out_.pull_on.push_back(node);
    if (holds_back(images)) out_.split->not_yet = images.lacking_ordinals();
  }

  bool holds_back(const RingImages& images) {
    if (state().phase == RolloutPhase::kPreparing) return true;
    const ImageWait wait = advance_image_wait(state(), images, deadline(), now_);
    if (wait == ImageWait::kBegins) {
      tell(false, "RingPreparing", ring_text() + ": " + state().image_wait);
    }
    if (wait == ImageWait::kEnds) tell_not_pulled("goes on", images);
    return wait == ImageWait::kBegins || wait == ImageWait::kGoesOn;
  }

  void advance() {
    if (state().phase == RolloutPhase::kRolledBack) return;
    if (state().phase == RolloutPhase::kRollingBack) return follow_rollback();
    if (rollout_.abort == target_name()) {
      return fail("RolloutAborted", "aborted by spec.rollout.abort");
    }
    if (state().phase == RolloutPhase::kWaiting) {
      if (may_begin_a_ring() || is_promoted("*")) start();
      return;
    }
    if (const std::string failure = find_failure(); !failure.empty()) {
      return fail("RolloutFailed", failure);
    }
    if (state().phase == RolloutPhase::kPreparing) return prepare_ring();
    note_progress();
    if (rollout_.paused || wanted_ == 0) return;
    if (const std::string late = find_late_pod(); !late.empty()) return fail("RolloutFailed", late);
    if (state().phase == RolloutPhase::kSwapping) {
      if (ring_is_complete()) ring_swapped();
    } else {
      judge_ring();
    }
  }

  /// A set of golden prompts that the last good revision fails as well says nothing of the target:
  /// who fails it; empty where nobody does.
  std::string unfit_golden_set() const {
    for (const ObservedPod& pod : observed_.pods) {
      if (was_told_target(observed_, pod) || pod.wrong_output.empty()) continue;
      return "the golden prompts do not count, for " + pod.name + " with " + good_name() +
             " fails them, too: " + pod.wrong_output;
    }
    return {};
  }

  /// What needs no statistics.
  std::string find_failure() const {
    const bool fair = unfit_golden_set().empty();
    for (const ObservedPod& pod : observed_.pods) {
      if (!is_member(pod)) continue;
      if (fair && !pod.wrong_output.empty()) return pod.name + ": " + pod.wrong_output;
      if (pod.crash_looping) return pod.name + " fails: " + pod.message;
    }
    for (const ObservedPod* pod : images_of_ring().lacking) {
      if (!pod->pull_failure.empty()) return "node " + pod->node + ": " + pod->pull_failure;
    }
    return {};
  }

  void note_progress() {
    std::string progress = std::to_string(member_count()) + "/" + std::to_string(available_count());
    if (rollout_.paused) progress += " paused";
    if (progress == state().progress) return;
    state().progress = std::move(progress);
    state().progress_at = now_;
  }

  /// A pod that was told the target and does not get there; others' time is not its fault.
  std::string find_late_pod() const {
    if (now_ - state().progress_at < deadline()) return {};
    for (const ObservedPod& pod : observed_.pods) {
      if (!is_member(pod) || is_available(pod) || pod.waits_for_node) continue;
      return pod.name + " is not ready after " +
             std::to_string(rollout_.progress_deadline_seconds) + " s" +
             (pod.message.empty() ? "" : ": " + pod.message);
    }
    return {};
  }

  void ring_swapped() {
    if (rollout_.rings.empty()) return finish();
    tell(false, "RingSwapped", "ring " + state().ring_name + " runs " + target_name());
    enter(RolloutPhase::kBaking, "ring " + state().ring_name + " is watched for " +
                                     std::to_string(rollout_.bake.seconds) + " s and " +
                                     count_text(rollout_.bake.min_requests, "request"));
    if (const std::string unfit = unfit_golden_set(); !unfit.empty()) {
      state().message += "; " + unfit;
      tell(true, "GoldenSetUnfit", unfit);
    }
  }

  void judge_ring() {
    const Verdict& verdict = input_.verdict;
    if (verdict.kind == VerdictKind::kFail) return fail("RolloutFailed", verdict.message);
    if (!ring_is_complete()) return;
    if (is_promoted(state().ring_name) || is_promoted("*")) {
      return pass_ring("promoted by spec.rollout.promote");
    }
    const seconds bake(rollout_.bake.seconds * (1 + state().extensions));
    if (state().phase == RolloutPhase::kBaking && now_ - state().since < bake) return;
    if (verdict.kind == VerdictKind::kPass) {
      if (!is_last_ring() && !may_begin_a_ring()) return wait_for_window();
      return pass_ring(verdict.message);
    }
    if (verdict.kind == VerdictKind::kInconclusive) wait_for_evidence(verdict.message);
  }

  void pass_ring(const std::string& why) {
    state().verdict = verdict_name(VerdictKind::kPass);
    tell(false, "RingPassed", "ring " + state().ring_name + ": " + why);
    if (is_last_ring()) return finish();
    enter_ring(state().ring + 1);
  }

  bool is_last_ring() const {
    return state().ring + 1 >= static_cast<std::int64_t>(rollout_.rings.size()) ||
           state().ring_size == 0;
  }

  /// The ring has passed, and is watched on until the next one may begin.
  void wait_for_window() {
    const std::string message =
        "ring " + state().ring_name + " passed; the next one " + window_text();
    if (state().message == message) return;
    state().verdict = verdict_name(VerdictKind::kPass);
    state().message = message;
    tell(false, "RolloutWaits", message);
  }

  void wait_for_evidence(const std::string& why) {
    if (state().phase == RolloutPhase::kPaused) return;
    state().verdict = verdict_name(VerdictKind::kInconclusive);
    const std::string message = "ring " + state().ring_name + ": " + why;
    if (state().extensions < kExtensionsMax && rollout_.bake.seconds > 0) {
      ++state().extensions;
      state().message = message + "; the bake is prolonged";
      return tell(false, "BakeProlonged", message);
    }
    enter(RolloutPhase::kPaused, message);
    tell(true, "RolloutPaused", message + "; goes on when there is evidence, or by promote");
  }

  void finish() {
    become_good();
    tell(false, "RolloutDone", target_name() + " passed; it is the last good revision now");
  }

  // Back.

  void fail(const char* reason, const std::string& message) {
    state().verdict = verdict_name(VerdictKind::kFail);
    tell(true, reason, target_name() + " goes back to " + good_name() + ": " + message);
    end_image_wait(state());
    enter(RolloutPhase::kRollingBack, message);
  }

  void follow_rollback() {
    const bool any = std::any_of(observed_.pods.begin(), observed_.pods.end(),
                                 [&](const ObservedPod& pod) { return is_member(pod); });
    if (any) return;
    tell(false, "RolledBack", "all pods were told " + good_name());
    enter(RolloutPhase::kRolledBack, state().message);
  }

  /// How the pods are divided where the rollout is now.
  std::optional<RevisionSplit> split() const {
    if (!input_.last_good || *input_.last_good == observed_.target) return std::nullopt;
    const RolloutPhase phase = state().phase;
    if (phase == RolloutPhase::kDone || phase == RolloutPhase::kNone) return std::nullopt;
    RevisionSplit split{*input_.last_good, 0, false};
    if (is_under_way(phase)) {
      split.on_target = allowed_count();
      const bool at_work = phase == RolloutPhase::kSwapping || phase == RolloutPhase::kBaking;
      split.hold_surplus = at_work && !rollout_.paused && !rollout_.rings.empty();
    }
    return split;
  }

  const RolloutInput& input_;
  const Observed& observed_;
  const RolloutSpec& rollout_;
  std::int64_t wanted_;
  std::set<std::int64_t> kept_;  ///< of where the rollout was before this pass
  std::string key_;
  WallTime now_;
  RolloutStep out_;
};

}  // namespace

std::string rollout_key(const Revision& revision) {
  constexpr std::size_t kDigits = 10;
  return short_revision(revision.whole) + "." + revision.pod.substr(0, kDigits);
}

RolloutStep plan_rollout(const RolloutState& before, const RolloutInput& input, WallTime now) {
  return Advance(before, input, now).take();
}

bool is_under_way(const RolloutState& state) {
  return is_under_way(state.phase) || state.phase == RolloutPhase::kWaiting;
}

bool moves_pods(const RolloutState& state) {
  return state.phase != RolloutPhase::kRolledBack && state.phase != RolloutPhase::kWaiting;
}

bool is_judged(const RolloutState& state) {
  return state.phase == RolloutPhase::kBaking || state.phase == RolloutPhase::kPaused;
}

Condition gate_condition(const RolloutState& state, const ModelServing& serving) {
  const auto gated = [](const char* reason, std::string message) {
    return Condition{"RolloutGated", ConditionStatus::kTrue, reason, std::move(message)};
  };
  const auto open = [](const char* reason, std::string message) {
    return Condition{"RolloutGated", ConditionStatus::kFalse, reason, std::move(message)};
  };
  const RolloutPhase phase = state.phase;
  if (serving.spec.rollout.paused) return gated("Paused", "spec.rollout.paused is true");
  if (is_under_way(phase) && serving.replicas_or_default() == 0) {
    return gated("ScaledToZero", "spec.replicas is 0; there is no pod to try a revision on");
  }
  if (phase == RolloutPhase::kWaiting) return gated("OutsideWindow", state.message);
  if (phase == RolloutPhase::kPreparing) return gated("Preparing", state.message);
  if (!state.image_wait.empty()) return gated("Preparing", state.image_wait);
  if (phase == RolloutPhase::kBaking) return gated("Baking", state.message);
  if (phase == RolloutPhase::kPaused) return gated("Inconclusive", state.message);
  if (phase == RolloutPhase::kRollingBack || phase == RolloutPhase::kRolledBack) {
    return gated("RevisionFailed",
                 state.target.substr(0, state.target.find('.')) +
                     " is not tried again until the spec changes: " + state.message);
  }
  if (phase == RolloutPhase::kSwapping && !state.ring_name.empty()) {
    return open("Swapping", state.message);
  }
  if (serving.spec.rollout.rings.empty()) {
    return open("NoGates", "pods change one after another within maxUnavailable");
  }
  return open("Open", "no rollout is held");
}

Condition progress_condition(const RolloutState& state, Condition planned) {
  if (planned.reason == "RolloutPaused" || planned.reason == "Deleting") return planned;
  const auto say = [&](ConditionStatus status, const char* reason, std::string message) {
    planned.status = status;
    planned.reason = reason;
    planned.message = std::move(message);
    return planned;
  };
  const std::string good = state.last_good;
  if (!state.image_wait.empty()) return say(ConditionStatus::kTrue, "Preparing", state.image_wait);
  switch (state.phase) {
    case RolloutPhase::kWaiting:
      return say(ConditionStatus::kFalse, "OutsideWindow", state.message);
    case RolloutPhase::kPreparing: return say(ConditionStatus::kTrue, "Preparing", state.message);
    case RolloutPhase::kBaking: return say(ConditionStatus::kTrue, "Baking", state.message);
    case RolloutPhase::kPaused: return say(ConditionStatus::kFalse, "Inconclusive", state.message);
    case RolloutPhase::kRollingBack:
      return say(ConditionStatus::kTrue, "RollingBack", "back to " + good + ": " + state.message);
    case RolloutPhase::kRolledBack:
      return say(ConditionStatus::kFalse, "RolledBack", "runs " + good + ": " + state.message);
    default: return planned;
  }
}

}  // namespace kantha::serving
