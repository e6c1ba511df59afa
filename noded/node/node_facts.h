#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/machine.h"
#include "noded/node/gpu_driver.h"

/// What a pod has of its node. Read once at the start; values; any thread.
namespace kantha::noded {

struct GpuPlace {
  GpuFact gpu;
  int numa_node = -1;     ///< -1: none, or not known
  std::vector<int> cpus;  ///< of that node
};

struct NodeFacts {
  MachineLimits limits;        ///< CPUs and memory by the cgroup (v1, v2), cpuset and affinity
  std::string driver_version;  ///< empty without a driver
  std::string driver_absence;  ///< why there is none
  std::vector<GpuPlace> gpus;
  /// The CPUs near all of them that this process may use; empty: nothing to pin to.
  std::vector<int> engine_cpus;
};

/// `root`: "/" in programs. `driver`: as opened, or why not.
NodeFacts read_node_facts(const std::string& root, const Result<GpuDriver>& driver,
                          const std::vector<int>& allowed);

/// Object "node" of GET /admin/v1/state.
Json to_json(const NodeFacts& facts);

}  // namespace kantha::noded
