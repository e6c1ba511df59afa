#pragma once

#include <utility>
#include <vector>

#include "bench/load/request_log.h"

/// Curves of a run for plots. Pure. Any thread.
namespace kantha::bench {

using Curve = std::vector<std::pair<double, double>>;

/// Share of the values at or below x, at most `points` steps. Zeros (chunks that came in one read)
/// are shown at `floor`, so that a log axis has a place for them.
Curve cumulative_share(std::vector<double> values, std::size_t points, double floor);

/// Seconds and output tokens a second in so many equal parts of the phases, one after the other. A
/// request's tokens are spread evenly over its chunks, or count at its end when it was not
/// streamed; requests without usage count their chunks.
Curve throughput_over_time(const std::vector<Phase>& phases, std::size_t parts);

/// Seconds and mean requests in flight, in the same parts.
Curve in_flight_over_time(const std::vector<Phase>& phases, std::size_t parts);

}  // namespace kantha::bench
