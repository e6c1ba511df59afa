#pragma once

#include <string>
#include <vector>

namespace kantha {

/// One thing that is wrong with a document from a person. Any thread.
struct Problem {
  std::string path;     ///< "spec.rollout.rings[0].size"; empty for the whole document
  std::string message;  ///< "expected an integer, got \"two\""
  bool operator==(const Problem&) const = default;
};
using Problems = std::vector<Problem>;

}  // namespace kantha
