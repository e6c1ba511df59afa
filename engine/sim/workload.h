#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/sched/generate_spec.h"
#include "engine/sim/length_mix.h"

/// What arrives, and when: plain data, made by a generator or read from a file (arrival_file.h).
namespace kantha::sim {

inline constexpr std::int32_t kNone = -1;

/// One request.
struct Arrival {
  /// Since the start; with `after`, since the end of that request.
  Duration at{};
  std::int32_t after = kNone;  ///< index of an earlier arrival
  std::int32_t prompt_tokens = 1;
  std::int32_t output_tokens = 1;
  std::int32_t prefix = kNone;     ///< prompts of one prefix begin with the same tokens,
  std::int32_t prefix_tokens = 0;  ///< so many of them; ≤ prompt_tokens
  std::int32_t tenant = 0;         ///< index into Workload::tenants
  std::int32_t priority = 0;
  sched::SloClass slo = sched::SloClass::kInteractive;
  Duration timeout{};  ///< 0 = none
};

/// A million arrivals take about 70 MiB; nothing here is larger.
inline constexpr std::size_t kArrivalsMax = 1'000'000;

struct Workload {
  std::vector<Arrival> arrivals;
  std::vector<std::string> tenants = {""};
};

/// Requests of one prompt token that all arrive at 0, with these outputs.
Workload fixed_outputs(std::span<const std::int32_t> output_tokens);

/// `count` requests whose gaps are exponential with the mean 1/rate.
Workload poisson(const RequestShape& shape, double rate_per_second, std::int32_t count,
                 std::uint64_t seed);

/// `count` requests at once.
Workload burst(const RequestShape& shape, std::int32_t count, Duration at, std::uint64_t seed);

/// A closed loop: each of `users` sends `each` requests, the next one `think` after the end of the
/// last. They begin spread evenly over the first `think`.
Workload closed_loop(const RequestShape& shape, std::int32_t users, std::int32_t each,
                     Duration think, std::uint64_t seed);

/// Both together; `second` keeps its times. Tenants with one name are one.
Workload merged(Workload first, const Workload& second);

}  // namespace kantha::sim
