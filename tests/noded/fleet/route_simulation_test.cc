#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "base/rng.h"
#include "noded/fleet/peer_book.h"
#include "noded/fleet/prompt_key.h"
#include "noded/fleet/route_choice.h"

/// The real key, book and choice of three pods on virtual time, before engines that are no more
/// than a prefix cache and a service time. What each pod knows of the others is as old as in life:
/// it comes with the heads of answers and with one question a second.
namespace kantha::noded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kPods = 3;
constexpr int kPrefixes = 30;
constexpr std::size_t kCachedPrefixes = 16;  ///< of one pod; a single pod would have 48
constexpr std::int64_t kStartMs = 1'764'489'600'000;

enum class Routing : std::uint8_t { kByFleet, kWhereItComesIn };

/// An engine's prefix cache: the least recently used one goes.
class PrefixCache {
 public:
  explicit PrefixCache(std::size_t size) : size_(size) {}
  bool meet(int prefix) {
    const auto found = std::find(order_.begin(), order_.end(), prefix);
    const bool hit = found != order_.end();
    if (hit) order_.erase(found);
    order_.push_front(prefix);
    if (order_.size() > size_) order_.pop_back();
    return hit;
  }

 private:
  std::size_t size_;
  std::list<int> order_;
};

struct SimPod {
  std::string name;
  std::unique_ptr<PeerBook> book;
  PrefixCache cache{kCachedPrefixes};
  std::int64_t running = 0;
  bool stalled = false;
  std::int64_t served = 0;
};

struct Tally {
  std::int64_t requests = 0;
  std::int64_t hits = 0;
  std::vector<double> first_byte_ms = {};  ///< of those that were not taken back from a stalled pod
  double hit_ratio() const { return static_cast<double>(hits) / static_cast<double>(requests); }
  double p99() {
    std::sort(first_byte_ms.begin(), first_byte_ms.end());
    return first_byte_ms[first_byte_ms.size() * 99 / 100];
  }
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, int clients, Routing routing) : seed_(seed), routing_(routing) {
    FleetView view{kStartMs, {}};
    for (int i = 0; i < kPods; ++i) {
      pods_.push_back({.name = "pod-" + std::to_string(i), .book = nullptr});
      view.peers.push_back({pods_.back().name, "10.0.0.1:8000", "m", ""});
    }
    for (SimPod& pod : pods_) {
      pod.book = std::make_unique<PeerBook>(pod.name, "m");
      EXPECT_TRUE(pod.book->take(view, WallTime(milliseconds(kStartMs)), now_).ok());
    }
    for (int i = 0; i < clients; ++i) at(milliseconds(i), [this] { send(); });
    at(seconds(1), [this] { ask_all(); });
  }

  void run_for(Duration duration) {
    const TimePoint until = now_ + duration;
    while (!events_.empty() && events_.top().at <= until) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.what();
    }
    now_ = until;
  }

  Tally take_tally() { return std::exchange(tally_, {}); }
  std::vector<SimPod>& pods() { return pods_; }

 private:
  struct Event {
    TimePoint at;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void at(Duration after, std::function<void()> what) {
    events_.push({now_ + after, events_made_++, std::move(what)});
  }
  std::uint64_t draw() { return random_bits(seed_, draws_++); }

  /// A client's next request, at whatever pod the Service gives it: one that answers its probes.
  void send() {
    const int prefix = static_cast<int>(draw() % kPrefixes);
    route(any_door(), prefix, now_, false);
  }

  std::size_t any_door() {
    while (true) {
      const auto door = static_cast<std::size_t>(draw() % kPods);
      if (!pods_[door].stalled) return door;
    }
  }

  std::string body(int prefix) {
    return R"({"messages":[{"role":"system","content":")" + std::to_string(prefix) +
           std::string(300, 's') + R"("},{"role":"user","content":")" + std::to_string(draw()) +
           R"("}]})";
  }

  std::size_t choose(SimPod& door, int prefix) {
    const std::size_t local = static_cast<std::size_t>(&door - pods_.data());
    if (routing_ == Routing::kWhereItComesIn) return local;
    std::vector<RouteCandidate> candidates{{text_bits(door.name), true, door.running, 0.0}};
    std::vector<std::size_t> index{local};
    for (Peer* peer : door.book->peers(now_)) {
      if (!door.book->is_usable(*peer, now_)) continue;
      candidates.push_back({peer->name_bits, false,
                            peer->running(now_, door.book->policy().load_age_max), std::nullopt});
      index.push_back(static_cast<std::size_t>(peer->told.name.back() - '0'));
    }
    const auto key = prompt_key("/v1/chat/completions", body(prefix), "");
    return index[*choose_route(candidates, key, draw())];
  }

  void route(std::size_t door_at, int prefix, TimePoint arrived, bool taken_back) {
    SimPod& door = pods_[door_at];
    SimPod& pod = pods_[choose(door, prefix)];
    if (&pod != &door) door.book->began(pod.name);
    if (pod.stalled) {
      waiting_.push_back({door_at, static_cast<std::size_t>(&pod - pods_.data()), prefix, arrived});
      return;
    }
    pod.running += 1;
    pod.served += 1;
    const bool hit = pod.cache.meet(prefix);
    tally_.requests += 1;
    tally_.hits += hit ? 1 : 0;
    const Duration first = milliseconds(hit ? 20 : 120) + milliseconds(pod.running);
    if (!taken_back) {
      tally_.first_byte_ms.push_back(
          std::chrono::duration<double, std::milli>(now_ + first - arrived).count());
    }
    at(first, [this, &door, &pod] {
      if (&door != &pod) tell(pod, door);
    });
    at(first + milliseconds(200 + draw() % 400), [this, &door, &pod] {
      pod.running -= 1;
      if (&door != &pod) door.book->ended(pod.name);
      send();
    });
  }

  void tell(SimPod& pod, SimPod& door) {
    const PeerLoad load{pod.name, "m", EnginePhase::kReady, pod.running, 0, 0};
    EXPECT_TRUE(door.book->note_load(pod.name, load_text(load), now_));
  }

  /// Once a second each pod asks the others; three questions without an answer open a breaker, and
  /// what waits there goes elsewhere. What had come in at the pod itself is its clients' to repeat.
  void ask_all() {
    for (std::size_t door = 0; door < pods_.size(); ++door) {
      for (std::size_t peer = 0; peer < pods_.size(); ++peer) {
        if (peer == door) continue;
        if (!pods_[peer].stalled) {
          tell(pods_[peer], pods_[door]);
        } else if (!pods_[door].stalled &&
                   pods_[door].book->find(pods_[peer].name)->breaker.failed(now_)) {
          recall(door, peer);
          recall(peer, peer);
        }
      }
    }
    at(seconds(1), [this] { ask_all(); });
  }

  struct Waiting {
    std::size_t door;
    std::size_t pod;
    int prefix;
    TimePoint arrived;
  };

  void recall(std::size_t door, std::size_t pod) {
    std::vector<Waiting> stuck;
    std::erase_if(waiting_, [&](const Waiting& waiting) {
      if (waiting.door != door || waiting.pod != pod) return false;
      stuck.push_back(waiting);
      return true;
    });
    for (const Waiting& waiting : stuck) {
      if (door != pod) pods_[door].book->ended(pods_[pod].name);
      route(door == pod ? any_door() : door, waiting.prefix, waiting.arrived, true);
    }
  }

  std::uint64_t seed_;
  Routing routing_;
  std::uint64_t draws_ = 0;
  std::uint64_t events_made_ = 0;
  TimePoint now_ = TimePoint{} + seconds(1000);
  std::vector<SimPod> pods_;
  std::vector<Waiting> waiting_;
  std::priority_queue<Event> events_;
  Tally tally_;
};

/// Every prefix is missed once.
double ideal_hit_ratio(const Tally& tally) {
  return static_cast<double>(tally.requests - kPrefixes) / static_cast<double>(tally.requests);
}

TEST(RouteSimulation, ThirtyPrefixesOnThreePodsMeetTheirWarmBlocksAndNoPodIsOverloaded) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Simulation simulation(seed, 64, Routing::kByFleet);
    simulation.run_for(seconds(120));
    const Tally tally = simulation.take_tally();
    EXPECT_GE(tally.hit_ratio(), 0.9 * ideal_hit_ratio(tally)) << "seed " << seed;
    for (const SimPod& pod : simulation.pods()) {
      const double mean = static_cast<double>(tally.requests) / kPods;
      EXPECT_LE(static_cast<double>(pod.served), 1.25 * mean) << "seed " << seed << pod.name;
    }
  }
}

TEST(RouteSimulation, WithoutRoutingTheSameLoadMissesHalfOfThem) {
  Simulation simulation(1, 64, Routing::kWhereItComesIn);
  simulation.run_for(seconds(120));
  EXPECT_LT(simulation.take_tally().hit_ratio(), 0.6) << "or the test above shows nothing";
}

TEST(RouteSimulation, AStalledPodDoesNotSlowTheOthersAndGetsItsShareBack) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Simulation simulation(seed, 12, Routing::kByFleet);
    simulation.run_for(seconds(60));
    const double before = simulation.take_tally().p99();
    simulation.pods()[2].stalled = true;
    simulation.run_for(seconds(60));
    Tally stalled = simulation.take_tally();
    EXPECT_GT(stalled.requests, 500) << "seed " << seed << ": nobody waits for ever";
    EXPECT_LE(stalled.p99(), 1.25 * before) << "seed " << seed;
    simulation.pods()[2].stalled = false;
    simulation.run_for(seconds(5));
    const std::int64_t served = simulation.pods()[2].served;
    simulation.take_tally();
    simulation.run_for(seconds(60));
    EXPECT_GT(simulation.pods()[2].served - served, simulation.take_tally().requests / 6);
  }
}

}  // namespace
}  // namespace kantha::noded
