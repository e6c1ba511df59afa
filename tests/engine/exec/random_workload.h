#pragma once

#include <cstdint>

/// Random requests on random small engines, held against what each request gets alone.
namespace kantha::exec {

/// What happened in all workloads together, so that a test can tell that its subject did occur.
struct WorkloadTotals {
  std::int64_t requests = 0;
  std::int64_t preemptions = 0;
  std::int64_t recomputed_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t part_hit_tokens = 0;
  std::int64_t copies = 0;
  std::int64_t forks = 0;           ///< samples that shared their parent's prompt
  std::int64_t windowed_forks = 0;  ///< of those, on engines with windows
  std::int64_t waits = 0;           ///< for a head that another request computed
  std::int64_t aborts = 0;
  std::int64_t deadlines = 0;  ///< requests that ended because their time was up
  std::int64_t resumed = 0;
  std::int64_t windowed = 0;  ///< workloads on engines with windows
  std::int64_t scored = 0;    ///< requests that were told of their prompt
  std::int64_t exact = 0;     ///< requests as long as the window or the pool allows
};

/// One workload: arrivals, parallel samples, aborts and deadlines at any moment, on an engine whose
/// block size, pool, groups, budget and options follow from `seed` as well. Fails the current test
/// when a request's tokens are not those that it gets alone, when something does not end, or when
/// blocks, queue or counters are not what they were at the start. Integrity is CHECKed by the loop
/// after each step, slots and windows by the fake forward.
void run_random_workload(std::uint64_t seed, WorkloadTotals& totals);

/// Workloads first … last, until one fails.
WorkloadTotals run_random_workloads(std::uint64_t first, std::uint64_t last);

/// The totals show that, in each 1,000 workloads, everything happened often.
void expect_everything_happened(const WorkloadTotals& totals, std::int64_t workloads);

}  // namespace kantha::exec
