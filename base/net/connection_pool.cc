#include "base/net/connection_pool.h"

#include <utility>

namespace kantha::net {
namespace {

constexpr std::size_t kIdlePerPeerMax = 64;
/// Below the 75 s after which our own servers (and most others) close.
constexpr Duration kIdleTimeMax = std::chrono::seconds(60);

}  // namespace

std::optional<TimedSocket> ConnectionPool::take(const std::string& peer) {
  drop_old();
  const auto found = idle_.find(peer);
  if (found == idle_.end()) return std::nullopt;
  std::optional<TimedSocket> taken;
  while (!taken && !found->second.empty()) {
    TimedSocket socket = std::move(found->second.back().socket);
    found->second.pop_back();
    // Anything to read now is the peer's FIN, or bytes that nobody asked for.
    if (socket.is_open() && !socket.readable()) taken.emplace(std::move(socket));
  }
  if (found->second.empty()) idle_.erase(found);
  return taken;
}

void ConnectionPool::put(const std::string& peer, TimedSocket socket) {
  drop_old();
  if (!socket.is_open() || socket.readable()) return;
  std::deque<Idle>& idle = idle_[peer];
  idle.push_back({.socket = std::move(socket), .since = system_clock().now()});
  if (idle.size() > kIdlePerPeerMax) idle.pop_front();
}

void ConnectionPool::drop_old() {
  const TimePoint oldest = system_clock().now() - kIdleTimeMax;
  for (auto& [peer, idle] : idle_) {
    while (!idle.empty() && idle.front().since < oldest) idle.pop_front();
  }
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace kantha::net
