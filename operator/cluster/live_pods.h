#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "base/net/task.h"
#include "operator/cluster/pass.h"

/// The pods of an object as the API server has them now, for acts that a store, which may lag, must
/// not decide alone. One executor.
namespace kantha::cluster {

/// Every pod with the object's label, all pages, its own or not; a quorum read. nullopt: it could
/// not be read, which is noted in the pass's outcome.
net::Task<std::optional<std::vector<Json>>> live_pods(Pass& pass);

}  // namespace kantha::cluster
