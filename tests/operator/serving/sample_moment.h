#pragma once

#include "operator/serving/observe_cluster.h"
#include "tests/operator/serving/cluster_sample.h"

namespace kantha::serving {

/// sample_time() on both clocks.
inline Moment sample_moment(std::int64_t second = 0) {
  return {TimePoint(std::chrono::seconds(1000 + second)), sample_time(second)};
}

}  // namespace kantha::serving
