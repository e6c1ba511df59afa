#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/serving/plan.h"
#include "operator/serving/rollout_state.h"

/// Which nodes a ring needs the target's image on, and how long its pods wait for that. Pure; any
/// thread.
namespace kantha::serving {

struct RingImages {
  /// Pods that the ring moves from the last good revision, and whose nodes may not have the image.
  /// Those that were told an earlier target are not among them: they move at once.
  std::vector<const ObservedPod*> lacking;
  /// Nodes of all pods that it has yet to move: what was pulled there is not forgotten before.
  std::set<std::string> nodes;

  std::set<std::string> lacking_nodes() const;
  std::set<std::int64_t> lacking_ordinals() const;
};

/// For the pods as `split` divides them, whatever `observed.split` does. The pods are those of
/// `observed`.
RingImages ring_images(const Observed& observed, const RevisionSplit& split);

enum class ImageWait : std::uint8_t {
  kNone,    ///< nobody waits
  kBegins,  ///< for people to know
  kGoesOn,
  kEnds,    ///< it took too long: the ring goes on without the image
  kWaived,  ///< so it did before: nobody waits any more until every node has it
};

void end_image_wait(RolloutState& state);

/// Notes in `state` who waits for an image in a ring that has begun. One wait takes `deadline` at
/// most, whoever joins it: pods that come and go must not hold a ring for ever.
ImageWait advance_image_wait(RolloutState& state, const RingImages& ring,
                             std::chrono::seconds deadline, WallTime now);

}  // namespace kantha::serving
