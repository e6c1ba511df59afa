#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

/// Which pod a request goes to. Pure; any thread.
///
/// With a key: rendezvous hashing (Thaler and Ravishankar, 1998), so that equal prefixes meet their
/// warm blocks and a pod that comes or goes moves only its own keys, about one in n; with bounded
/// load (Mirrokni, Thorup and Zadimoghaddam, 2016), so that a popular prefix spills over to the
/// next pod of its order instead of making one pod slow. A new pod starts slowly: by weighted
/// rendezvous (Thaler and Ravishankar; Schindelhauer and Schomaker, 2005) keys come to it one after
/// the other, and none moves between the others. Where no pod is known to be older than the slow
/// start (a fleet that has just begun) all are alike. Without a key: the better of two.
namespace kantha::noded {

struct RoutePolicy {
  /// A pod takes no more than this many times the fleet's mean of running requests…
  double load_factor = 1.25;
  /// …unless it has fewer than this: such an engine is idle whatever the mean is.
  std::int64_t running_free = 8;
  /// Nor when its KV pressure is above the fleet's mean by more than this.
  double pressure_margin = 0.15;
  /// Without a key, another pod must have so many requests fewer to be worth the hop.
  std::int64_t local_margin = 2;
  /// A pod whose cache is empty gets a share of its keys that grows to all of them in this time, so
  /// that not all their users wait for it at once.
  Duration slow_start = std::chrono::seconds(10);
  double share_min = 0.2;  ///< at the beginning
};

/// A pod that takes new requests now.
struct RouteCandidate {
  std::uint64_t name_bits = 0;  ///< text_bits of its name
  bool is_local = false;
  std::int64_t running = 0;
  std::optional<double> pressure = {};  ///< nothing is known, or it is too old
  /// Since its first engine was ready; nothing: nobody knows, and it counts as long ago.
  std::optional<Duration> ready_for = {};
};

/// An index; nothing only when there are no candidates. `draw` is any random number.
std::optional<std::size_t> choose_route(const std::vector<RouteCandidate>& candidates,
                                        std::optional<std::uint64_t> key, std::uint64_t draw,
                                        const RoutePolicy& policy = {});

}  // namespace kantha::noded
