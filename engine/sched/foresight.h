#pragma once

#include <array>
#include <cstdint>

#include "engine/sched/output_lengths.h"

/// Whether the blocks will do: not only now, but until those that run have ended.
namespace kantha::sched {

/// What is known of a sequence's future.
struct Growth {
  std::int32_t so_far = 0;  ///< output tokens
  std::int32_t limit = 0;   ///< output tokens that may still come
  std::int32_t needed = 0;  ///< blocks to be taken for what it wants now
  std::int32_t slack = 0;   ///< further tokens that fit into those
  std::int32_t freed = 0;   ///< blocks that come back to the pool when it ends, of those held now
};

/// How rows of a sequence grow.
struct RowGrowth {
  std::int32_t tokens = 16;  ///< per row
  std::int32_t blocks = 1;  ///< per row, of layers that attend to everything; windows stay as large
};

/// Expected demand for idle blocks at some moments ahead, up to 64 Ki tokens, when every sequence
/// gets a token per step, ends as others did or at its limit, and gives its blocks back then. After
/// Gong et al., "Past-Future Scheduler for LLM Serving under SLA Guarantees" (2025), with the
/// distribution's expectation for samples of it. One thread.
class Foresight {
 public:
  /// Nobody runs.
  void clear();
  void add(const Growth& growth, const OutputLengths& lengths, RowGrowth row);

  /// Most blocks that will be needed at any of the moments, with a margin of 1.5 standard
  /// deviations, if `growth` joins those that were added.
  double peak_with(const Growth& growth, const OutputLengths& lengths, RowGrowth row) const;

 private:
  static constexpr std::size_t kMoments = 24;

  struct Demand {
    double mean = 0;
    double variance = 0;
  };
  static std::int32_t tokens_at(std::size_t moment);
  static Demand demand_at(std::size_t moment, const Growth& growth, const OutputLengths& lengths,
                          RowGrowth row);

  std::array<Demand, kMoments> demand_{};
};

}  // namespace kantha::sched
