#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/task.h"
#include "base/result.h"
#include "operator/kube/api_client.h"
#include "operator/kube/resource.h"

/// Before an operator is uninstalled: nothing of it holds ModelServings back any more. One
/// executor.
///
/// Flow: scale its Deployment to 0 → wait until nobody holds the Lease → take our finalizer off
/// every ModelServing → delete the Lease. Pods go on serving; an operator that is installed later
/// puts the finalizer back. Idempotent: each step that is done already is passed over, so that a
/// call that failed half-way is made again. What is not there (no Deployment, no Lease, a cluster
/// that does not know ModelServing) is nothing to do.
namespace kantha::cluster {

struct FinalizerRelease {
  std::vector<std::string> namespaces = {};        ///< of ModelServings; empty: all
  std::optional<kube::ObjectKey> deployment = {};  ///< the operator's, to be scaled to 0
  std::optional<kube::ObjectKey> lease = {};       ///< the operator's, to be waited for, deleted
  Duration patience = std::chrono::seconds(100);   ///< for the operator's end
};

/// Tells what it does, a line each, while it does it. kDeadlineExceeded: the operator has not ended
/// in time, and nothing was released. Objects that could not be released are told, the others are
/// released, and the last failure is the result.
net::Task<Status> release_finalizers(kube::ApiClient& client, const Clock& clock,
                                     FinalizerRelease what,
                                     std::function<void(const std::string&)> tell);

}  // namespace kantha::cluster
