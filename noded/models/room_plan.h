#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

/// What to take out of the cache so that a file finds room. Pure; any thread.
namespace kantha::noded {

/// One file of the cache.
struct CacheEntry {
  std::string digest;
  bool is_part = false;    ///< a download that nobody goes on with
  std::int64_t bytes = 0;  ///< on disk
  WallTime last_used{};
  bool in_use = false;  ///< an engine has it, or somebody downloads it: never taken out
  bool operator==(const CacheEntry&) const = default;
};

struct RoomNeed {
  std::int64_t bytes = 0;        ///< still to be written
  std::int64_t quota_bytes = 0;  ///< for the whole cache; 0: as large as the disk
  std::int64_t used_bytes = 0;   ///< by the cache now, all entries and what is downloaded
  std::int64_t free_bytes = 0;   ///< on its disk
  std::int64_t spare_bytes = 0;  ///< that the disk shall keep
};

struct RoomPlan {
  std::vector<CacheEntry> evict;  ///< in this order
  std::string problem;            ///< why no eviction helps, with numbers; then nothing is evicted
};

/// Abandoned parts first, then the least recently used; as few as it takes.
RoomPlan plan_room(std::vector<CacheEntry> entries, const RoomNeed& need);

/// "1.4 GiB"
std::string bytes_text(std::int64_t bytes);

}  // namespace kantha::noded
