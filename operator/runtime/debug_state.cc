#include "operator/runtime/debug_state.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace kantha::runtime {
namespace {

double seconds_of(Duration duration) {
  // To the millisecond: more digits would only be noise.
  return static_cast<double>(
             std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) /
         1000.0;
}

std::string scope_of(const std::string& name_space) {
  return name_space.empty() ? "all" : name_space;
}

std::string shortened(const std::string& text, std::size_t columns) {
  return text.size() <= columns ? text : text.substr(0, columns - 3) + "...";
}

OrderedJson json_of(const WatcherView& view) {
  OrderedJson out = {{"resource", view.resource},
                     {"namespace", view.name_space},
                     {"phase", view.phase},
                     {"resourceVersion", view.resource_version},
                     {"inPhaseSeconds", seconds_of(view.in_phase)}};
  if (!view.trouble.empty()) out["trouble"] = view.trouble;
  return out;
}

OrderedJson json_of(const StoreView& view) {
  OrderedJson out = {{"resource", view.resource},      {"namespace", view.name_space},
                     {"objects", view.objects},        {"resourceVersion", view.resource_version},
                     {"synced", view.is_synced},       {"stale", view.is_stale},
                     {"undecodable", view.undecodable}};
  if (!view.last_undecodable.empty()) out["lastUndecodable"] = view.last_undecodable;
  return out;
}

OrderedJson json_of(const ControllerView& view, std::size_t failures_max) {
  OrderedJson in_work = OrderedJson::array();
  for (const auto& [key, span] : view.in_work) {
    in_work.push_back({{"object", key.to_string()}, {"seconds", seconds_of(span)}});
  }
  OrderedJson failures = OrderedJson::array();
  for (const auto& [key, message] : view.failures) {
    if (failures.size() == failures_max) break;
    failures.push_back({{"object", key.to_string()}, {"error", message}});
  }
  return {{"name", view.name},
          {"ready", view.ready},
          {"delayed", view.delayed},
          {"oldestWaitSeconds", seconds_of(view.oldest_wait)},
          {"reconciles", view.counts.done},
          {"failed", view.counts.failed},
          {"exceptions", view.counts.exceptions},
          {"overdue", view.counts.overdue},
          {"inWork", std::move(in_work)},
          {"failing", view.failures.size()},
          {"failures", std::move(failures)}};
}

void append_watchers(std::string& out, const RuntimeView& view) {
  out += fmt::format("{:<22}{:<18}{:<11}{:>14}{:>12}\n", "WATCH", "NAMESPACE", "PHASE", "VERSION",
                     "SINCE");
  for (const WatcherView& watcher : view.watchers) {
    out += fmt::format("{:<22}{:<18}{:<11}{:>14}{:>11.0f}s\n", watcher.resource,
                       shortened(scope_of(watcher.name_space), 17), watcher.phase,
                       watcher.resource_version, seconds_of(watcher.in_phase));
    if (!watcher.trouble.empty()) out += "  refused: " + shortened(watcher.trouble, 88) + "\n";
  }
}

void append_stores(std::string& out, const RuntimeView& view) {
  out += fmt::format("\n{:<22}{:<18}{:>9}{:>16}  {:<10}{:>11}\n", "STORE", "NAMESPACE", "OBJECTS",
                     "VERSION", "STATE", "UNDECODABLE");
  for (const StoreView& store : view.stores) {
    const char* state = !store.is_synced ? "unsynced" : store.is_stale ? "stale" : "synced";
    out += fmt::format("{:<22}{:<18}{:>9}{:>16}  {:<10}{:>11}\n", store.resource,
                       shortened(scope_of(store.name_space), 17), store.objects,
                       store.resource_version, state, store.undecodable);
    if (store.undecodable > 0) {
      out += "  last undecodable: " + shortened(store.last_undecodable, 79) + "\n";
    }
  }
}

void append_controller(std::string& out, const ControllerView& view, std::size_t failures_max) {
  out += fmt::format(
      "\nCONTROLLER {}: {} ready (oldest {:.3f} s), {} delayed, {} in work, {} failing\n"
      "  {} reconciles, {} failed, {} exceptions, {} overdue\n",
      view.name, view.ready, seconds_of(view.oldest_wait), view.delayed, view.in_work.size(),
      view.failures.size(), view.counts.done, view.counts.failed, view.counts.exceptions,
      view.counts.overdue);
  for (const auto& [key, span] : view.in_work) {
    out +=
        fmt::format("  in work {:.3f} s: {}\n", seconds_of(span), shortened(key.to_string(), 80));
  }
  std::size_t shown = 0;
  for (const auto& [key, message] : view.failures) {
    if (shown == failures_max) {
      out += fmt::format("  and {} more\n", view.failures.size() - shown);
      break;
    }
    ++shown;
    out += "  " + shortened(key.to_string() + ": " + message, 98) + "\n";
  }
}

}  // namespace

WatcherView view_of(const Watcher& watcher, TimePoint now) {
  const WatchState& state = watcher.state();
  return {.resource = std::string(watcher.options().resource.plural),
          .name_space = watcher.options().name_space,
          .phase = std::string(phase_name(state.phase)),
          .resource_version = state.resource_version,
          .trouble = state.trouble ? state.trouble->to_string() : std::string(),
          .in_phase = now - state.phase_since};
}

ControllerView view_of(const std::string& name, const Controller& controller, TimePoint now) {
  return {.name = name,
          .ready = controller.queue().ready_count(),
          .delayed = controller.queue().delayed_count(),
          .oldest_wait = controller.queue().oldest_wait(now),
          .counts = controller.counts(),
          .in_work = controller.in_work(),
          .failures = controller.failures()};
}

LeaseView view_of(const LeaderLease& lease) {
  return {.is_used = true,
          .is_leading = lease.is_leading(),
          .identity = lease.identity(),
          .holder = lease.holder()};
}

GateView view_of(const WriteGate& gate) { return {gate.pending_count(), gate.given_up_count()}; }

BreakerView view_of(const DeletionBreaker& breaker, TimePoint now) {
  return {breaker.recent_count(now), breaker.refused_count()};
}

OrderedJson debug_json(const RuntimeView& view, std::size_t failures_max) {
  OrderedJson watchers = OrderedJson::array();
  for (const WatcherView& watcher : view.watchers) watchers.push_back(json_of(watcher));
  OrderedJson stores = OrderedJson::array();
  for (const StoreView& store : view.stores) stores.push_back(json_of(store));
  OrderedJson controllers = OrderedJson::array();
  for (const ControllerView& controller : view.controllers) {
    controllers.push_back(json_of(controller, failures_max));
  }
  OrderedJson lease = nullptr;
  if (view.lease.is_used) {
    lease = {{"leading", view.lease.is_leading},
             {"identity", view.lease.identity},
             {"holder", view.lease.holder}};
  }
  return {{"lease", std::move(lease)},
          {"watchers", std::move(watchers)},
          {"stores", std::move(stores)},
          {"controllers", std::move(controllers)},
          {"gate", {{"pending", view.gate.pending}, {"givenUp", view.gate.given_up}}},
          {"breaker",
           {{"deletesLastMinute", view.breaker.deletes_last_minute},
            {"refused", view.breaker.refused}}}};
}

std::string debug_text(const RuntimeView& view, std::size_t failures_max) {
  std::string out;
  if (view.lease.is_used) {
    out += fmt::format("LEASE {}: {} (holder: {})\n\n",
                       view.lease.is_leading ? "leading" : "not leading", view.lease.identity,
                       view.lease.holder.empty() ? "nobody" : view.lease.holder);
  } else {
    out += "LEASE not used\n\n";
  }
  append_watchers(out, view);
  append_stores(out, view);
  for (const ControllerView& controller : view.controllers) {
    append_controller(out, controller, failures_max);
  }
  out += fmt::format("\nGATE {} writes waited for, {} given up\n", view.gate.pending,
                     view.gate.given_up);
  out += fmt::format("BREAKER {} deletes in the last minute, {} refused\n",
                     view.breaker.deletes_last_minute, view.breaker.refused);
  return out;
}

}  // namespace kantha::runtime
