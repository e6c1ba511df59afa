#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/plan_cluster.h"

/// Brings the target's engine image to the nodes of a ring, by pods that do nothing else
/// (serving/image_pull.h), and takes each away once the pods of its node were told the target:
/// until then it is what says that the node has the image. They are deleted by uid; nothing is lost
/// with them. One executor.
namespace kantha::cluster {

net::Task<void> pull_images(Pass& pass, const serving::ClusterObservation& seen,
                            const serving::ClusterPlan& plan);

}  // namespace kantha::cluster
