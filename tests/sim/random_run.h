#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// One random life of a cluster as a pure function of its seed: a fleet, users who edit, scale,
/// break, delete and make anew, people who meddle with children, nodes that get lost, and an
/// operator whose calls fail, hang and lie and which dies now and then. Then all faults end, the
/// users settle on good specs, and everything must come out as a fresh install of them would.
namespace kantha::sim {

struct RandomRun {
  std::vector<std::string> failures;
  std::string report;  ///< for people, when something failed
  std::int64_t writes = 0;
  int operators = 0;
};

RandomRun random_run(std::uint64_t seed);

}  // namespace kantha::sim
