#include "engine/sim/workload.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/rng.h"

namespace kantha::sim {
namespace {

// Draws of one workload come from streams of their own, so that changing the lengths does not move
// the arrivals.
enum class Stream : std::uint64_t { kPrompt = 1, kOutput, kPrefix, kGap };

std::uint64_t stream_seed(std::uint64_t seed, Stream stream) {
  return random_bits(seed, static_cast<std::uint64_t>(stream));
}

Arrival drawn(const RequestShape& shape, std::uint64_t seed, std::uint64_t number) {
  Arrival arrival;
  arrival.prompt_tokens = shape.prompt.draw(stream_seed(seed, Stream::kPrompt), number);
  arrival.output_tokens = shape.output.draw(stream_seed(seed, Stream::kOutput), number);
  if (shape.prefixes > 0 && shape.prefix_tokens > 0) {
    const double unit = random_unit(stream_seed(seed, Stream::kPrefix), number);
    arrival.prefix = static_cast<std::int32_t>(unit * shape.prefixes);
    arrival.prefix_tokens = shape.prefix_tokens;
    arrival.prompt_tokens += shape.prefix_tokens;
  }
  return arrival;
}

Duration seconds(double count) { return Duration(std::llround(count * 1e9)); }

}  // namespace

Workload fixed_outputs(std::span<const std::int32_t> output_tokens) {
  Workload workload;
  for (const std::int32_t tokens : output_tokens) {
    workload.arrivals.push_back({.output_tokens = tokens});
  }
  return workload;
}

Workload poisson(const RequestShape& shape, double rate_per_second, std::int32_t count,
                 std::uint64_t seed) {
  CHECK(rate_per_second > 0, "a rate");
  Workload workload;
  double at = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    at += -std::log(1 - random_unit(stream_seed(seed, Stream::kGap), number)) / rate_per_second;
    Arrival arrival = drawn(shape, seed, number);
    arrival.at = seconds(at);
    workload.arrivals.push_back(arrival);
  }
  return workload;
}

Workload burst(const RequestShape& shape, std::int32_t count, Duration at, std::uint64_t seed) {
  Workload workload;
  for (std::int32_t i = 0; i < count; ++i) {
    Arrival arrival = drawn(shape, seed, static_cast<std::uint64_t>(i));
    arrival.at = at;
    workload.arrivals.push_back(arrival);
  }
  return workload;
}

Workload closed_loop(const RequestShape& shape, std::int32_t users, std::int32_t each,
                     Duration think, std::uint64_t seed) {
  Workload workload;
  for (std::int32_t i = 0; i < users * each; ++i) {
    Arrival arrival = drawn(shape, seed, static_cast<std::uint64_t>(i));
    if (i < users) {
      arrival.at = think * i / users;
    } else {
      arrival.at = think;
      arrival.after = i - users;
    }
    workload.arrivals.push_back(arrival);
  }
  return workload;
}

Workload merged(Workload first, const Workload& second) {
  const auto offset = static_cast<std::int32_t>(first.arrivals.size());
  std::vector<std::int32_t> tenants;
  for (const std::string& name : second.tenants) {
    const auto found = std::ranges::find(first.tenants, name);
    tenants.push_back(static_cast<std::int32_t>(found - first.tenants.begin()));
    if (found == first.tenants.end()) first.tenants.push_back(name);
  }
  for (Arrival arrival : second.arrivals) {
    if (arrival.after != kNone) arrival.after += offset;
    arrival.tenant = tenants[static_cast<std::size_t>(arrival.tenant)];
    first.arrivals.push_back(arrival);
  }
  return first;
}

}  // namespace kantha::sim
