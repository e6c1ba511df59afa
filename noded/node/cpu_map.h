#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Which CPUs are near which device, as sysfs tells. `root` is "/" in programs and a folder with a
/// fake sys tree in tests. What cannot be read is not known, never an error. Any thread.
namespace kantha::noded {

/// "0-3,8" → 0 1 2 3 8, ascending and once each; nullopt when malformed or with a number above
/// 65535. An empty text is an empty list.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
/// The other way round.
std::string cpu_list_text(const std::vector<int>& cpus);

/// sysfs spells PCI addresses as "0000:17:00.0"; NVML with a longer domain and capital letters.
/// Empty when it is none.
std::string sysfs_pci_address(std::string_view address);

/// NUMA node of a PCI device; -1 when there is none or it is not known.
int numa_node_of(const std::string& root, const std::string& pci_address);
/// CPUs of a NUMA node; empty when not known.
std::vector<int> cpus_of_node(const std::string& root, int node);

/// The CPUs to which an engine is pinned: those of its devices' nodes that this process may use.
/// Empty: no pinning, because a device's node is not known, or nothing would be left.
std::vector<int> engine_cpus(const std::string& root, const std::vector<int>& numa_nodes,
                             const std::vector<int>& allowed);

/// CPUs that this process may run on.
std::vector<int> allowed_cpus();

}  // namespace kantha::noded
