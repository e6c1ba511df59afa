#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "operator/runtime/controller.h"
#include "operator/runtime/deletion_breaker.h"
#include "operator/runtime/leader_lease.h"
#include "operator/runtime/store.h"
#include "operator/runtime/watcher.h"
#include "operator/runtime/write_gate.h"

/// What the runtime is doing, for `/debug/state`: as JSON for programs and as text for people.
/// Plain data; the functions are pure. Object names may be in it, contents never.
namespace kantha::runtime {

struct WatcherView {
  std::string resource = {};
  std::string name_space = {};  ///< empty: all
  std::string phase = {};
  std::string resource_version = {};
  std::string trouble = {};  ///< empty: none
  Duration in_phase{};
};

struct StoreView {
  std::string resource = {};
  std::string name_space = {};
  std::size_t objects = 0;
  std::string resource_version = {};
  bool is_synced = false;
  bool is_stale = false;
  std::size_t undecodable = 0;
  std::string last_undecodable = {};
};

struct ControllerView {
  std::string name = {};
  std::size_t ready = 0;
  std::size_t delayed = 0;
  Duration oldest_wait{};
  ControllerCounts counts = {};
  std::vector<std::pair<kube::ObjectKey, Duration>> in_work = {};
  std::vector<std::pair<kube::ObjectKey, std::string>> failures = {};
};

struct LeaseView {
  bool is_used = false;  ///< false: this process runs without an election
  bool is_leading = false;
  std::string identity = {};
  std::string holder = {};
};

struct GateView {
  std::size_t pending = 0;
  std::size_t given_up = 0;
};

struct BreakerView {
  std::size_t deletes_last_minute = 0;
  std::size_t refused = 0;
};

struct RuntimeView {
  std::vector<WatcherView> watchers = {};
  std::vector<StoreView> stores = {};
  std::vector<ControllerView> controllers = {};
  LeaseView lease = {};
  GateView gate = {};
  BreakerView breaker = {};
};

WatcherView view_of(const Watcher& watcher, TimePoint now);
ControllerView view_of(const std::string& name, const Controller& controller, TimePoint now);
LeaseView view_of(const LeaderLease& lease);
GateView view_of(const WriteGate& gate);
BreakerView view_of(const DeletionBreaker& breaker, TimePoint now);
template <class T>
StoreView view_of(const Store<T>& store, std::string name_space = {}) {
  return {.resource = std::string(store.resource().plural),
          .name_space = std::move(name_space),
          .objects = store.size(),
          .resource_version = store.resource_version(),
          .is_synced = store.is_synced(),
          .is_stale = store.is_stale(),
          .undecodable = store.undecodable_count(),
          .last_undecodable = store.last_undecodable()};
}

/// At most `failures_max` failures of each controller are named; their count is always whole.
OrderedJson debug_json(const RuntimeView& view, std::size_t failures_max = 100);
/// The same as a page of at most 100 columns.
std::string debug_text(const RuntimeView& view, std::size_t failures_max = 20);

}  // namespace kantha::runtime
