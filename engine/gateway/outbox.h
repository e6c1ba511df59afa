#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/sched/token_event.h"

/// The way out of the engine thread.
namespace kantha::gateway {

/// Gathers one step's events and hands each sink its own in one call, in order: one wake-up per
/// receiver and step. The engine thread owns it; sinks only enqueue (EventSink).
class Outbox {
 public:
  void add(std::shared_ptr<sched::EventSink> sink, sched::TokenEvent event);
  /// Sends everything and lets go of the sinks.
  void flush();

 private:
  struct Parcel {
    std::shared_ptr<sched::EventSink> sink;
    std::vector<sched::TokenEvent> events;
  };
  std::vector<Parcel> parcels_;
  std::unordered_map<const sched::EventSink*, std::size_t> parcel_of_;
};

}  // namespace kantha::gateway
