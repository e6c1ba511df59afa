#include "engine/serve/load_notice.h"

#include <cmath>

namespace kantha::serve {

std::optional<LoadPace> LoadNotice::at(TimePoint now, std::int64_t done, std::int64_t total) {
  if (now < next_ || done >= total) return std::nullopt;
  const bool is_long = now - start_ >= std::chrono::seconds(10);
  next_ = now + std::chrono::seconds(is_long ? 10 : 1);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double pace = static_cast<double>(done) / seconds;  // bytes a second
  LoadPace said;
  said.percent =
      static_cast<std::int64_t>(100.0 * static_cast<double>(done) / static_cast<double>(total));
  said.mb_per_s = std::llround(pace / 1e6);
  if (done > 0) said.seconds_left = std::llround(static_cast<double>(total - done) / pace);
  return said;
}

}  // namespace kantha::serve
