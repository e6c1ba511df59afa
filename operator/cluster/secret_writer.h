#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"

/// Makes sure that Secret NAME-admin is there before a pod mounts it. One executor.
namespace kantha::cluster {

/// Creates it with a token of its own, once; an existing one is never written. False: it is not
/// there, and the outcome says why. Nobody watches Secrets, so the answer is believed for a minute.
net::Task<bool> ensure_admin_secret(Pass& pass);

}  // namespace kantha::cluster
