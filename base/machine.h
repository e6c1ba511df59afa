#pragma once

#include <cstdint>
#include <string>

/// The machine is what the cgroup says (design: engine invariant 7).
namespace kantha {

/// What this process may use, read now from cpuset, cgroup v1 or v2, and affinity.
struct MachineLimits {
  /// min(cpuset, affinity, ceil(quota/period)), at least 1.
  int cpus = 1;
  /// Bytes of memory this process's cgroup may use; the host's when unlimited.
  std::int64_t memory_bytes = 0;
  /// Where the numbers came from, for logs: "cgroup2", "cgroup1", "host".
  std::string source = "host";
};

/// Reads the limits. `root` is "/" in programs and a folder with fake proc and sys trees in tests.
/// Unreadable files fall back to the host's values, never to an error. Any thread.
MachineLimits read_machine_limits(const std::string& root = "/");

}  // namespace kantha
