#include "engine/gateway/outbox.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kantha::gateway {

void Outbox::send(std::vector<sched::AddressedEvent>& events) {
  if (events.empty()) return;
  sched::EventHub* const hub = events.front().sink->hub();
  const auto same = [hub](const sched::AddressedEvent& it) { return it.sink->hub() == hub; };
  if (hub != nullptr && std::ranges::all_of(events, same)) {
    hub->on_step(events);
    CHECK(events.empty(), "a hub takes everything");
    return;
  }
  for (sched::AddressedEvent& event : events) sort_in(std::move(event));
  events.clear();
  for (HubParcel& parcel : for_hubs_) parcel.hub->on_step(parcel.events);
  for (SinkParcel& parcel : for_sinks_) parcel.sink->on_events(std::move(parcel.events));
  for_hubs_.clear();
  for_sinks_.clear();
}

void Outbox::sort_in(sched::AddressedEvent event) {
  if (sched::EventHub* const hub = event.sink->hub()) {
    auto found = std::ranges::find(for_hubs_, hub, &HubParcel::hub);
    if (found == for_hubs_.end()) found = for_hubs_.insert(found, {.hub = hub, .events = {}});
    found->events.push_back(std::move(event));
    return;
  }
  auto found = std::ranges::find(for_sinks_, event.sink, &SinkParcel::sink);
  if (found == for_sinks_.end())
    found = for_sinks_.insert(found, {.sink = event.sink, .events = {}});
  found->events.push_back(std::move(event.event));
}

}  // namespace kantha::gateway
