#pragma once

#include "base/json.h"
#include "operator/serving/cluster_revision.h"
#include "operator/serving/types.h"

/// The volumes of a pod and where its containers see them. Pure; any thread.
///
///   run       /run/kantha        both    memory: engine.json as the engine reads it, its socket
///   pod-info  /etc/kantha/pod    noded   engine.json from the pod's annotation
///   admin     /etc/kantha/admin  noded   the admin API's token
///   api-keys  /etc/kantha/keys   noded   with gateway.authSecret
///   tmp       /tmp               engine
///   model     /models            engine  the weights, read-only
///             /models            noded   where it fetches them (source http)
namespace kantha::serving {

OrderedJson pod_volumes(const ModelServing& serving, const ClusterSettings& settings);
OrderedJson noded_mounts(const ModelServing& serving);
OrderedJson engine_mounts(const ModelServing& serving);

}  // namespace kantha::serving
