#pragma once

#include <cstdint>

#include "base/json.h"
#include "operator/serving/cluster_object.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/pod_object.h"

/// Pods, and what is changed in a running one. Pure; equal input gives equal text; any thread.
namespace kantha::serving {

/// The document to POST for one ordinal. The spec must be valid and its source supported.
OrderedJson render_pod(const ClusterServing& owner, const ClusterSettings& settings,
                       const Revision& target, std::int64_t ordinal);

/// securityContext of every pod and container of ours: what restricted Pod Security asks for.
OrderedJson restricted_pod_security();
OrderedJson restricted_container_security();

/// JSON Patch that tells a running pod a new revision: engine-config, told-revision (and what was
/// told before), the revision's label, and the engine container's image when it differs, with how
/// often the engine had restarted by then. It fails
/// as a whole when the pod is not the one (by uid) that was decided on. The pod must have an engine
/// container.
OrderedJson render_pod_retell(const ClusterServing& owner, const ClusterSettings& settings,
                              const Revision& target, const PodObject& pod);

/// JSON Patch that notes on a pod that it was seen to run what it was told. It fails when the pod
/// was told something else meanwhile.
OrderedJson render_pod_confirm(const PodObject& pod);

}  // namespace kantha::serving
