#include "noded/models/room_plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <utility>

namespace kantha::noded {
namespace {

bool fits(const RoomNeed& need, std::int64_t gained) {
  const bool disk = need.free_bytes + gained >= need.bytes + need.spare_bytes;
  const bool quota =
      need.quota_bytes == 0 || need.used_bytes - gained + need.bytes <= need.quota_bytes;
  return disk && quota;
}

std::string no_room(const RoomNeed& need, std::int64_t gained) {
  const bool disk = need.free_bytes + gained < need.bytes + need.spare_bytes;
  std::string out = "no room for " + bytes_text(need.bytes) + " more: ";
  if (disk) {
    out += "the disk has " + bytes_text(need.free_bytes) + " free, of which " +
           bytes_text(need.spare_bytes) + " stay free";
  } else {
    out += "the quota is " + bytes_text(need.quota_bytes) + ", and " + bytes_text(need.used_bytes) +
           " are used";
  }
  return out + "; " + bytes_text(gained) + " of it could be taken out, the rest is in use";
}

}  // namespace

RoomPlan plan_room(std::vector<CacheEntry> entries, const RoomNeed& need) {
  std::erase_if(entries, [](const CacheEntry& entry) { return entry.in_use; });
  std::ranges::sort(entries, [](const CacheEntry& a, const CacheEntry& b) {
    return std::tuple(!a.is_part, a.last_used, a.digest) <
           std::tuple(!b.is_part, b.last_used, b.digest);
  });
  RoomPlan out;
  std::int64_t gained = 0;
  for (CacheEntry& entry : entries) {
    if (fits(need, gained)) break;
    gained += entry.bytes;
    out.evict.push_back(std::move(entry));
  }
  if (fits(need, gained)) return out;
  return {.evict = {}, .problem = no_room(need, gained)};
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace kantha::noded
