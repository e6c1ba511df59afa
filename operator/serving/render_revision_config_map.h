#pragma once

#include "base/json.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/cluster_revision.h"

/// The ConfigMap that keeps what a revision was. Pure; any thread.
namespace kantha::serving {

/// Immutable; keys `engine.json` and `image`. The spec must be valid and its source supported.
OrderedJson render_revision_config_map(const ClusterServing& owner, const ClusterSettings& settings,
                                       const Revision& target);

}  // namespace kantha::serving
