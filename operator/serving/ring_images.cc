#include "operator/serving/ring_images.h"

#include "operator/serving/plan_workload.h"

namespace kantha::serving {
namespace {

/// Who waits for what; the others are like the first.
std::string wait_text(const std::vector<const ObservedPod*>& lacking) {
  const ObservedPod& first = *lacking.front();
  const std::size_t others = lacking.size() - 1;
  std::string out = first.name + " waits until " + first.node + " has the image";
  if (others > 0) out += ", and so do " + std::to_string(others) + " more";
  return out;
}

}  // namespace

std::set<std::string> RingImages::lacking_nodes() const {
  std::set<std::string> out;
  for (const ObservedPod* pod : lacking) out.insert(pod->node);
  return out;
}

std::set<std::int64_t> RingImages::lacking_ordinals() const {
  std::set<std::int64_t> out;
  for (const ObservedPod* pod : lacking) out.insert(pod->ordinal);
  return out;
}

RingImages ring_images(const Observed& observed, const RevisionSplit& split) {
  Observed divided = observed;
  divided.split = split;
  const std::set<std::int64_t> members = ordinals_on_target(divided);
  RingImages out;
  for (const ObservedPod& pod : observed.pods) {
    const bool moves = members.contains(pod.ordinal) && !was_told_target(observed, pod);
    const bool leaves = pod.terminating || pod.draining || pod.replace_at;
    if (!moves || leaves || pod.node.empty()) continue;
    out.nodes.insert(pod.node);
    const bool is_good = pod.told_revision == split.last_good.whole;
    if (is_good && pod.lacks_image) out.lacking.push_back(&pod);
  }
  return out;
}

void end_image_wait(RolloutState& state) {
  state.image_wait.clear();
  state.image_wait_since = {};
}

ImageWait advance_image_wait(RolloutState& state, const RingImages& ring,
                             std::chrono::seconds deadline, WallTime now) {
  if (ring.lacking.empty()) {
    end_image_wait(state);
    return ImageWait::kNone;
  }
  const bool is_new = state.image_wait_since == WallTime{};
  if (!is_new && state.image_wait.empty()) return ImageWait::kWaived;
  state.image_wait = wait_text(ring.lacking);
  if (is_new) {
    state.image_wait_since = now;
    return ImageWait::kBegins;
  }
  if (now - state.image_wait_since < deadline) return ImageWait::kGoesOn;
  state.image_wait.clear();
  return ImageWait::kEnds;
}

}  // namespace kantha::serving
