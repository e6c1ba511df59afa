#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/autoscale/day_of_traffic.h"
#include "bench/autoscale/simulated_pod.h"

/// A fleet through a day of traffic, its size decided by one kind of autoscaling. Virtual time, one
/// thread; the same inputs give the same numbers.
namespace kantha::autoscale {

/// What the HPA's law (operator/serving/scale_law.h) follows, every 15 seconds. Figures that come
/// through Prometheus or metrics-server were read 7 seconds before: half of a scrape interval
/// of 15.
enum class Signal : std::uint8_t {
  kPressure,   ///< kv_pressure of each ready pod, one second old: Kantha's
  kGauge,      ///< KV occupancy of each ready pod, which ends at 1, through Prometheus
  kCpu,        ///< share of 15 s in which a pod computed; a pod counts once it served so long
  kQueueDepth  ///< waiting requests of the whole fleet, so many for each pod (KEDA, Prometheus)
};
std::string signal_name(Signal signal);

struct Rule {
  Signal signal = Signal::kPressure;
  double target = 0.7;
};

struct FleetShape {
  PodShape pod;
  std::int64_t min_pods = 1;
  std::int64_t max_pods = 32;
  double start_s = 60;  ///< from a pod's birth to its first request
  // A request is good with its first token and each next one within these.
  double slo_first_s = 2;
  double slo_token_s = 0.05;
};

struct FleetReport {
  std::int64_t requests = 0;
  std::int64_t good = 0;
  std::int64_t given_up = 0;
  double p99_wait_s = 0;
  double pod_hours = 0;  ///< from each pod's birth to its end, draining included
  std::int64_t most_pods = 0;
  std::int64_t changes = 0;  ///< of the count
};

FleetReport run_day(const std::vector<Arrival>& day, const Rule& rule, const FleetShape& shape);

}  // namespace kantha::autoscale
