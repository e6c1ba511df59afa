#pragma once

#include "base/json.h"

/// What node autoscalers and people write on a node that they are about to take away. Pure; any
/// thread.
namespace kantha::serving {

/// The node is cordoned, or carries the taint of an autoscaler that removes it:
/// ToBeDeletedByClusterAutoscaler (Cluster Autoscaler), karpenter.sh/disrupted (Karpenter; before
/// its version 1: karpenter.sh/disruption). A node that is only considered for removal
/// (DeletionCandidateOfClusterAutoscaler) is not marked. Anything that is no node: false.
bool is_marked_for_removal(const Json& node);

}  // namespace kantha::serving
