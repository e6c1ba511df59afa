#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/autoscale/fleet_run.h"

namespace kantha::autoscale {
namespace {

/// Each signal with targets from careful to late: a law is as good as its best row.
constexpr Rule kRules[] = {
    {Signal::kPressure, 0.05}, {Signal::kPressure, 0.1},   {Signal::kPressure, 0.3},
    {Signal::kPressure, 0.5},  {Signal::kPressure, 0.7},   {Signal::kGauge, 0.05},
    {Signal::kGauge, 0.1},     {Signal::kGauge, 0.3},      {Signal::kGauge, 0.5},
    {Signal::kGauge, 0.7},     {Signal::kCpu, 0.5},        {Signal::kCpu, 0.7},
    {Signal::kCpu, 0.9},       {Signal::kQueueDepth, 0.5}, {Signal::kQueueDepth, 5},
};

std::vector<std::uint64_t> seeds_of(int argc, char** argv) {
  std::vector<std::uint64_t> out;
  for (int i = 1; i < argc; ++i) out.push_back(std::strtoull(argv[i], nullptr, 10));
  if (out.empty()) out = {1, 2, 3};
  return out;
}

FleetReport days(const std::vector<std::vector<Arrival>>& traffic, const Rule& rule,
                 const FleetShape& fleet) {
  FleetReport out;
  for (const std::vector<Arrival>& day : traffic) {
    const FleetReport one = run_day(day, rule, fleet);
    out.requests += one.requests;
    out.good += one.good;
    out.given_up += one.given_up;
    out.pod_hours += one.pod_hours;
    out.changes += one.changes;
    out.p99_wait_s = std::max(out.p99_wait_s, one.p99_wait_s);
    out.most_pods = std::max(out.most_pods, one.most_pods);
  }
  return out;
}

void print_fleet(const char* what, const std::vector<std::vector<Arrival>>& traffic,
                 const FleetShape& fleet) {
  const auto count = static_cast<std::int64_t>(traffic.size());
  std::printf("%s\n\n", what);
  std::puts(
      "| HPA on | target | good requests | given up | p99 first token | pod-hours a day | good per "
      "pod-hour | most pods | changes a day |\n|---|---|---|---|---|---|---|---|---|");
  for (const Rule& rule : kRules) {
    const FleetReport sum = days(traffic, rule, fleet);
    const double share = 100 * static_cast<double>(sum.good) / static_cast<double>(sum.requests);
    const std::string line = fmt::format(
        "| {} | {} | {:.2f} % | {} | {:.1f} s | {:.1f} | {:.0f} | {} | {} |",
        signal_name(rule.signal), rule.target, share, sum.given_up / count, sum.p99_wait_s,
        sum.pod_hours / static_cast<double>(count), static_cast<double>(sum.good) / sum.pod_hours,
        sum.most_pods, sum.changes / count);
    std::puts(line.c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace kantha::autoscale

/// kantha-autoscale-day [SEED…]: the tables of docs/autoscaling.md, over the days of these seeds.
int main(int argc, char** argv) {
  using namespace kantha::autoscale;
  std::vector<std::vector<Arrival>> traffic;
  std::size_t requests = 0;
  for (const std::uint64_t seed : seeds_of(argc, argv)) {
    DayShape day;
    day.seed = seed;
    traffic.push_back(day_of_traffic(day));
    requests += traffic.back().size();
  }
  std::printf("%zu days, %zu requests a day\n\n", traffic.size(), requests / traffic.size());
  FleetShape fleet;
  fleet.pod = two_core_engine();
  print_fleet("The engine on two cores, pods that serve a minute after they were asked for:",
              traffic, fleet);
  fleet.pod = kv_bound_engine();
  print_fleet("\nAn engine whose KV cache ends first, after a minute:", traffic, fleet);
  fleet.start_s = 300;
  print_fleet("\nThe same after five minutes:", traffic, fleet);
  return 0;
}
