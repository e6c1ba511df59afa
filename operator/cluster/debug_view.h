#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "operator/cluster/world_stores.h"
#include "operator/runtime/debug_state.h"

/// What one operator sees, does and waits for, for the page /debug/state. Object names may be in
/// it, contents never.
namespace kantha::cluster {

struct DebugView {
  std::string identity = {};
  bool is_leading = false;
  bool is_ready = false;  ///< the cluster is in view
  std::int64_t writes = 0;
  std::size_t events_queued = 0;
  std::size_t events_dropped = 0;
  std::size_t fleet_receivers = 0;  ///< nodeds that are told of their peers
  std::int64_t fleet_told = 0;
  std::int64_t fleet_failed = 0;
  std::size_t samples_of = 0;  ///< pods whose load is asked for
  std::int64_t samples_asked = 0;
  std::int64_t samples_failed = 0;
  runtime::RuntimeView runtime = {};
};

/// Adds what the scopes watch and hold, and the sum of their gates.
void add_scopes(runtime::RuntimeView& view, const WorldStores& stores, TimePoint now);

/// Pure; any thread.
OrderedJson debug_json(const DebugView& view);
/// The same as a page of at most 100 columns.
std::string debug_text(const DebugView& view);

}  // namespace kantha::cluster
