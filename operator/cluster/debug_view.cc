#include "operator/cluster/debug_view.h"

#include <fmt/format.h>

namespace kantha::cluster {

void add_scopes(runtime::RuntimeView& view, const WorldStores& stores, TimePoint now) {
  for (const auto& scope : stores.scopes()) {
    for (const auto& watcher : scope->watchers) {
      view.watchers.push_back(runtime::view_of(*watcher, now));
    }
    const std::string& name_space = scope->name_space;
    view.stores.push_back(runtime::view_of(scope->servings, name_space));
    view.stores.push_back(runtime::view_of(scope->pods, name_space));
    for (const auto* children : {&scope->services, &scope->budgets, &scope->accounts,
                                 &scope->config_maps, &scope->autoscalers}) {
      view.stores.push_back(runtime::view_of(*children, name_space));
    }
    const runtime::GateView gate = runtime::view_of(scope->gate);
    view.gate.pending += gate.pending;
    view.gate.given_up += gate.given_up;
  }
}

OrderedJson debug_json(const DebugView& view) {
  OrderedJson out = {{"identity", view.identity},
                     {"leading", view.is_leading},
                     {"ready", view.is_ready},
                     {"writes", view.writes},
                     {"eventsQueued", view.events_queued},
                     {"eventsDropped", view.events_dropped},
                     {"fleetViews",
                      {{"receivers", view.fleet_receivers},
                       {"told", view.fleet_told},
                       {"failed", view.fleet_failed}}},
                     {"samples",
                      {{"pods", view.samples_of},
                       {"asked", view.samples_asked},
                       {"failed", view.samples_failed}}}};
  out.update(runtime::debug_json(view.runtime));
  return out;
}

std::string debug_text(const DebugView& view) {
  return fmt::format("{}: {}, {}\n", view.identity, view.is_leading ? "leading" : "not leading",
                     view.is_ready ? "the cluster is in view" : "the cluster is not in view yet") +
         runtime::debug_text(view.runtime) +
         fmt::format("WRITES {}, Events {} queued, {} dropped\n", view.writes, view.events_queued,
                     view.events_dropped) +
         fmt::format("FLEET VIEWS {} receivers, {} told, {} failed\n", view.fleet_receivers,
                     view.fleet_told, view.fleet_failed) +
         fmt::format("SAMPLES of {} pods, {} asked, {} failed\n", view.samples_of,
                     view.samples_asked, view.samples_failed);
}

}  // namespace kantha::cluster
