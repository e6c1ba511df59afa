#include "noded/node/node_facts.h"

#include "noded/node/cpu_map.h"

namespace kantha::noded {

NodeFacts read_node_facts(const std::string& root, const Result<GpuDriver>& driver,
                          const std::vector<int>& allowed) {
  NodeFacts out;
  out.limits = read_machine_limits(root);
  if (!driver.ok()) {
    out.driver_absence = driver.error().message;
    return out;
  }
  out.driver_version = driver->version();
  std::vector<int> nodes;
  for (const GpuFact& gpu : driver->gpus()) {
    const int node = numa_node_of(root, gpu.pci_address);
    nodes.push_back(node);
    out.gpus.push_back({gpu, node, cpus_of_node(root, node)});
  }
  out.engine_cpus = engine_cpus(root, nodes, allowed);
  return out;
}

Json to_json(const NodeFacts& facts) {
  Json gpus = Json::array();
  for (const GpuPlace& place : facts.gpus) {
    gpus.push_back({{"uuid", place.gpu.uuid},
                    {"name", place.gpu.name},
                    {"pci", place.gpu.pci_address},
                    {"memory_bytes", place.gpu.memory_bytes},
                    {"numa_node", place.numa_node},
                    {"cpus", cpu_list_text(place.cpus)}});
  }
  return {{"cpus", facts.limits.cpus},
          {"memory_bytes", facts.limits.memory_bytes},
          {"limits_from", facts.limits.source},
          {"driver", facts.driver_version},
          {"no_driver", facts.driver_absence},
          {"gpus", std::move(gpus)},
          {"engine_cpus", cpu_list_text(facts.engine_cpus)}};
}

}  // namespace kantha::noded
