#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "operator/local/world_view.h"

/// Remembers when each condition last changed its status. One thread.
namespace kantha::local {

class ConditionLog {
 public:
  /// Dates the conditions of a plan: a status that is as before keeps its time.
  std::vector<ConditionView> date(const std::vector<serving::Condition>& conditions, WallTime now);

 private:
  struct Entry {
    serving::ConditionStatus status;
    std::string since;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace kantha::local
