#pragma once

#include "base/json.h"
#include "operator/serving/types.h"

/// The opposite of model_serving_from_json.h. Any thread.
namespace kantha::serving {

/// The object with apiVersion, kind, metadata and spec, every default spelled out. Reading it again
/// gives an equal object.
Json to_json(const ModelServing& serving);

/// As an HorizontalPodAutoscaler's spec.behavior has it; only what was given.
Json behavior_json(const ScalingBehavior& behavior);

}  // namespace kantha::serving
