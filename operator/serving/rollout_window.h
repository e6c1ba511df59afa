#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "operator/serving/types.h"

/// The times at which a ring may begin (spec.rollout.windows), in UTC. Pure; any thread.
namespace kantha::serving {

/// No windows: always. A window that ends at or before its start goes over midnight; it belongs to
/// the day on which it starts.
bool window_is_open(const std::vector<WindowSpec>& windows, WallTime now);

/// The next minute at which one opens; nothing when one is open, or none ever does.
std::optional<WallTime> next_window(const std::vector<WindowSpec>& windows, WallTime now);

/// "22:00" → minutes since midnight; nothing for another text.
std::optional<int> minute_of_day(std::string_view text);

/// Sun, Mon, … as days of a week are numbered; nothing for another text.
std::optional<int> day_of_week(std::string_view text);

}  // namespace kantha::serving
