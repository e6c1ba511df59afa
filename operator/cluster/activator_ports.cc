#include "operator/cluster/activator_ports.h"

namespace kantha::cluster {
namespace {

/// FNV-1a: the same in every build.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t out = 14695981039346656037ULL;
  for (const char c : text) {
    out ^= static_cast<unsigned char>(c);
    out *= 1099511628211ULL;
  }
  return out;
}

}  // namespace

std::int64_t ActivatorPorts::port_of(const std::string& uid) {
  const auto known = by_uid_.find(uid);
  if (known != by_uid_.end()) return known->second;
  const auto home = static_cast<std::int64_t>(hash_of(uid) % static_cast<std::uint64_t>(kCount));
  for (std::int64_t i = 0; i < kCount; ++i) {
    const std::int64_t port = kFirst + (home + i) % kCount;
    if (!taken_.insert(port).second) continue;
    by_uid_[uid] = port;
    return port;
  }
  return 0;
}

void ActivatorPorts::keep_only(const std::set<std::string>& uids) {
  for (auto it = by_uid_.begin(); it != by_uid_.end();) {
    if (uids.contains(it->first)) {
      ++it;
    } else {
      taken_.erase(it->second);
      it = by_uid_.erase(it);
    }
  }
}

}  // namespace kantha::cluster
