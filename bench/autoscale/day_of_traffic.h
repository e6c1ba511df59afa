#pragma once

#include <cstdint>
#include <vector>

/// A day of requests, the same for whoever is compared. Pure; any thread.
namespace kantha::autoscale {

struct Arrival {
  double at_s = 0;
  std::int32_t prompt_tokens = 0;
  std::int32_t output_tokens = 0;
};

struct DayShape {
  double length_s = 86'400;
  double night_per_s = 1;  ///< the rate at 0:00; it rises as a sine to day_per_s at noon
  double day_per_s = 8;
  double bursts = 24;       ///< on average, anywhere in the day
  double burst_factor = 5;  ///< times the rate of then; each lasts 2 to 8 minutes
  std::uint64_t seed = 1;
};

/// Sorted by time. Prompts are log-normal about 200 tokens (16 to 1,024), outputs about 120 (4 to
/// 512); gaps are exponential.
std::vector<Arrival> day_of_traffic(const DayShape& shape);

}  // namespace kantha::autoscale
