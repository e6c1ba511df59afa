#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/sim_world.h"

/// Short stories of users and clusters, told step by step with quiet in between, so that a run with
/// faults must end where the run without them ends.
namespace kantha::sim {

struct Step {
  std::string name;
  std::function<void(SimWorld&)> act;
};

struct Scenario {
  std::string name;
  std::vector<Step> steps;
};

const std::vector<Scenario>& scenarios();
const Scenario& scenario(const std::string& name);

/// What came of one telling.
struct Telling {
  std::map<std::string, Json> end;
  std::vector<std::string> failures;  ///< of the checks, and "did not settle after STEP"
  std::uint64_t calls = 0;            ///< of the first operator
  std::string report;                 ///< for people, when something failed
};

/// Tells the story with one operator after the other, each prepared (faults); `mend` ends the
/// faults before the last settling.
Telling tell(const Scenario& story, WorldOptions options = {},
             const std::function<void(OperatorRun&)>& prepare = {},
             const std::function<void(SimWorld&)>& mend = {});

/// The failures of `got`, and how its end differs from that of `expected`.
std::vector<std::string> divergence(const Telling& expected, const Telling& got);

}  // namespace kantha::sim
