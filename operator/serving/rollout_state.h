#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "operator/serving/types.h"

/// All that is remembered of a rollout, as status.rollout holds it (in the local world a file).
/// Everything else follows from the spec and the pods, so that a crash loses nothing. It changes at
/// transitions only. Plain data; any thread.
namespace kantha::serving {

enum class RolloutPhase : std::uint8_t {
  kNone,         ///< nothing was ever known to be good: there is no way back yet
  kWaiting,      ///< a target is there, and no window to begin in
  kPreparing,    ///< the target's image is brought to the ring's nodes; no pod is touched
  kSwapping,     ///< pods of the ring move to the target
  kBaking,       ///< the ring is watched and judged
  kPaused,       ///< the bake ended without enough evidence; goes on when there is, or by promote
  kDone,         ///< everything runs, or is on its way to, the last good revision
  kRollingBack,  ///< pods go back to the last good revision
  kRolledBack,   ///< the target failed; not tried again until the spec changes
};

std::string_view rollout_phase_name(RolloutPhase phase);

/// Times have whole seconds.
struct RolloutState {
  RolloutPhase phase = RolloutPhase::kNone;
  WallTime since{};        ///< when the phase began
  std::string target;      ///< rollout_key of the revision that it is about
  std::string last_good;   ///< short, for people; empty: none
  std::string good_spec;   ///< the last good revision's spec: revision_spec_text
  std::string older_spec;  ///< that of the one before it, for undo
  /// The target's engine image by digest, as the first pod that ran it showed; told to the rest, so
  /// that a tag that moves meanwhile changes nothing. Empty: not known, or there is no tag to
  /// follow.
  std::string image;
  std::string good_image;  ///< the same of the last good revision
  std::int64_t ring = 0;   ///< index into spec.rollout.rings
  std::string ring_name;
  /// Pods of the ring, fixed when it begins, so that a scale-out does not widen it. 0: all of them.
  std::int64_t ring_size = 0;
  std::int64_t extensions = 0;  ///< how often the bake was prolonged
  std::string progress;         ///< how far the ring's pods are, for the deadline
  WallTime progress_at{};       ///< when that changed last
  /// Pods of a ring that has begun which wait for their nodes to have the image, for people; empty:
  /// none does.
  std::string image_wait;
  /// When that wait began. Without `image_wait`: it was given up, and is not begun anew before
  /// every node of the ring has the image.
  WallTime image_wait_since{};
  std::string verdict;  ///< the last one: Pass, Fail, Inconclusive; empty before
  std::string message;  ///< why, for people
  bool operator==(const RolloutState&) const = default;
};

Json to_json(const RolloutState& state);
/// What is missing or wrong counts as never written: a person may have edited it.
RolloutState rollout_state_from_json(const Json& json);

/// The part of a spec that decides what runs (engine, model, resources, …), as compact JSON;
/// without replicas, autoscaling and pacing. `engine_image` is written down as resolved.
std::string revision_spec_text(const ModelServing& serving, const std::string& engine_image);

/// `serving` with that part replaced; nullopt when the text is not usable any more.
std::optional<ModelServing> with_revision_spec(const ModelServing& serving,
                                               const std::string& text);

}  // namespace kantha::serving
