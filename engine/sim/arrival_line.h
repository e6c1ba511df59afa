#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <vector>

#include "engine/sim/workload.h"

/// Which requests are due: open arrivals at their time, dependent ones after another's end.
namespace kantha::sim {

/// A workload's virtual times count from TimePoint{}.
class ArrivalLine {
 public:
  /// `workload` outlives this.
  explicit ArrivalLine(const Workload& workload);

  struct Due {
    TimePoint at;
    std::int32_t index = 0;
    bool operator>(const Due& other) const {
      return at != other.at ? at > other.at : index > other.index;
    }
  };
  /// The next request that is known to come; a dependent one is not until the other has ended.
  std::optional<Due> next() const;
  /// Takes it when it is due at `now`.
  std::optional<Due> take(TimePoint now);
  /// Request `index` has ended (or was refused): who waits for that comes `at` later.
  void ended(std::int32_t index, TimePoint now);

 private:
  const Workload& workload_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<std::vector<std::int32_t>> dependents_;  ///< empty without dependent arrivals
};

}  // namespace kantha::sim
