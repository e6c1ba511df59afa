#pragma once

#include "operator/serving/types.h"

/// What a ModelServing may ask of the local world. Pure but for one look at the image path.
namespace kantha::local {

inline constexpr std::int64_t kLocalReplicasMax = 64;

/// Problems that keep the object from running here: sources other than hostPath, an image that is
/// no program, more than 64 replicas.
serving::Problems local_problems(const serving::ModelServing& serving);

}  // namespace kantha::local
