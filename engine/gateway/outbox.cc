#include "engine/gateway/outbox.h"

namespace kantha::gateway {

void Outbox::add(std::shared_ptr<sched::EventSink> sink, sched::TokenEvent event) {
  const auto [found, is_new] = parcel_of_.try_emplace(sink.get(), parcels_.size());
  if (is_new) parcels_.push_back({std::move(sink), {}});
  parcels_[found->second].events.push_back(std::move(event));
}

void Outbox::flush() {
  parcel_of_.clear();
  for (Parcel& parcel : parcels_) parcel.sink->on_events(std::move(parcel.events));
  parcels_.clear();
}

}  // namespace kantha::gateway
