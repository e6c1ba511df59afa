#pragma once

#include <memory>
#include <vector>

#include "engine/sched/token_event.h"

/// The way out of the engine thread.
namespace kantha::gateway {

/// Hands one step's events over: those of a hub's sinks to the hub in one call, those of any other
/// sink to it in one call, in order. One wake-up per receiver and step. The engine thread owns it;
/// with one hub for all nothing is allocated.
class Outbox {
 public:
  /// Sends everything and lets go of the sinks; `events` is empty afterwards.
  void send(std::vector<sched::AddressedEvent>& events);

 private:
  struct HubParcel {
    sched::EventHub* hub = nullptr;
    std::vector<sched::AddressedEvent> events;
  };
  struct SinkParcel {
    std::shared_ptr<sched::EventSink> sink;
    std::vector<sched::TokenEvent> events;
  };
  void sort_in(sched::AddressedEvent event);

  // Filled and emptied by one call of send.
  std::vector<HubParcel> for_hubs_;
  std::vector<SinkParcel> for_sinks_;
};

}  // namespace kantha::gateway
