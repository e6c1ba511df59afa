#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "engine/sim/arrival_line.h"
#include "engine/sim/front_door.h"
#include "engine/sim/simulation.h"

/// Request-level batching, static and dynamic: what servers did before requests could join and
/// leave a running batch (Yu et al., "Orca", OSDI 2022, section 2).
namespace kantha::sim {

class BatchRun {
 public:
  BatchRun(const Workload& workload, const Policy& policy, const RunOptions& options);
  Trace run();

 private:
  /// A batch as a rectangle.
  struct Shape {
    std::int64_t members = 0;
    std::int64_t prompt = 0;  ///< longest
    std::int64_t output = 0;  ///< longest
  };

  void accept();
  void drop_expired();
  bool batch_is_due() const;
  /// When something may change while no batch is due; nothing: it is over.
  std::optional<TimePoint> next_change() const;
  void run_batch();
  Shape shape_of(const std::vector<std::int32_t>& members) const;
  void step(const Shape& shape, const std::vector<std::int32_t>& members, std::int64_t number);
  void note_waste(const Shape& shape, const std::vector<std::int32_t>& members, std::int64_t number,
                  Duration cost);
  void note_token(std::int32_t index);
  const Arrival& arrival(std::int32_t index) const {
    return workload_.arrivals[static_cast<std::size_t>(index)];
  }
  RequestRecord& record(std::int32_t index) {
    return trace_.requests[static_cast<std::size_t>(index)];
  }

  const Workload& workload_;
  const Policy& policy_;
  const RunOptions& options_;
  FrontDoor door_;
  ArrivalLine line_;
  std::deque<std::int32_t> waiting_;
  std::int64_t waiting_tokens_ = 0;
  TimePoint now_{};
  Trace trace_;
};

}  // namespace kantha::sim
