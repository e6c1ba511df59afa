#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "noded/api/pod_state.h"
#include "operator/serving/plan.h"

/// Which pods stay when there are more than are wanted. Pure; any thread.
namespace kantha::serving {

/// As many ordinals as replicas are wanted: those of pods that stay, then the smallest free ones,
/// where pods are to be made. While no more pods exist than are wanted, all of them stay.
///
/// Else the others go, in this order:
///   - pods that leave anyway (told to drain or to end, or ended for good);
///   - pods that are not available;
///   - pods on nodes that are about to be taken away;
///   - pods on another revision than the one they are to run;
///   - pods with few requests in flight (by powers of two; not known counts as many);
///   - pods with a cold cache (ObservedPod::warm, by tenths);
///   - pods with few others of this object on their node, so that nodes can empty;
///   - the highest ordinals.
/// While a rollout tries a revision on a part of the pods, that part goes last: its evidence would
/// be lost, and other pods would be put in its place.
///
/// What leaves ranks first, so that a choice stands once it was carried out, whatever changes.
std::set<std::int64_t> kept_ordinals(const Observed& observed);
/// The same while the pods are divided as `split` says, whatever `observed.split` does.
std::set<std::int64_t> kept_ordinals(const Observed& observed,
                                     const std::optional<RevisionSplit>& split);

/// Whether the pods that serve would bear the load of all of them without those named `gone`: the
/// KV cache that is asked for is at most nine tenths of what is left. What is asked of pods that
/// leave counts, too: it comes to the others soon. Pods of which nothing is known count on neither
/// side. Always, where a person decides on the count: without spec.autoscaling,
/// with no pod wanted, and at (or above) maxReplicas, for then somebody lowered that.
bool others_bear(const Observed& observed, const std::set<std::string>& gone);
/// Pods that serve are too many, and stay because the others would not bear their load.
bool load_holds_surplus(const Observed& observed);

/// ObservedPod::kv of a pod that says this.
std::optional<KvDemand> kv_demand(const noded::PodState& state);
/// ObservedPod::warm of a pod that says this: blocks in use or kept for their prefixes, over all.
std::optional<double> warm_share(const noded::PodState& state);

}  // namespace kantha::serving
