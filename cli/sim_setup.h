#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/sim/report.h"
#include "engine/sim/simulation.h"

/// The flags of `kantha sim` and what they mean.
namespace kantha::cli {

/// As given.
struct SimFlags {
  // What arrives; exactly one of the first four.
  std::string lengths;
  std::string poisson;
  std::string trace;
  std::int32_t users = 0;
  std::int32_t each = 20;
  double think_s = 0;
  std::string shape = "sharegpt";
  std::int32_t prefixes = 0;
  std::int32_t prefix_tokens = 0;
  std::int32_t requests = 4000;
  std::uint64_t seed = 1;
  // The engine.
  sim::RunOptions run;
  bool no_prefix_cache = false;
  bool newest_first = false;
  double itl_target_ms = 0;
  std::string cost;
  // What is compared and measured.
  std::string policies = "static,dynamic,continuous";
  double max_wait_ms = 100;
  double slo_ttft_ms = 2000;
  double slo_itl_ms = 50;
  bool json = false;
};

/// Puts the flags into the verb; ranges of single numbers are checked by the parser.
void add_sim_flags(CLI::App& verb, SimFlags& flags);

/// The flags in the simulator's words; fills flags.run.
struct SimSetup {
  std::vector<std::int32_t> lengths;
  std::vector<double> loads;
  std::vector<sim::Policy> policies;
  sim::RequestShape shape;
  sim::Slo slo;
};
/// kInvalidArgument names the flag, the value and what is allowed.
Result<SimSetup> sim_setup(SimFlags& flags);

}  // namespace kantha::cli
