#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Label selectors as the Kubernetes API takes them in queries. Plain data; any thread.
/// Source: Kubernetes docs "Labels and Selectors", set-based requirements.
namespace kantha::metricsapi {

class LabelSelector {
 public:
  /// "a=b,c!=d,e in (f,g),h notin (i),j,!k"; an empty text selects everything.
  /// kInvalidArgument shows the part that is none of these; at most 64 requirements.
  static Result<LabelSelector> parse(std::string_view text);

  bool selects(const std::map<std::string, std::string>& labels) const;

 private:
  struct Requirement {
    std::string key;
    bool wanted = true;      ///< false: what it says must not hold
    bool any_value = false;  ///< the key alone
    std::vector<std::string> values;
  };
  static Result<Requirement> requirement_of(std::string_view part);

  std::vector<Requirement> requirements_;
};

}  // namespace kantha::metricsapi
