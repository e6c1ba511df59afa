#pragma once

#include <string_view>

#include "operator/runtime/watch_sink.h"
#include "operator/runtime/write_gate.h"

/// A store's sink that also tells the gate how far its kind was seen: by lists, bookmarks, and
/// every event, those that change nothing in the store, too. One executor.
namespace kantha::runtime {

/// `gate` must outlive the sink. What happens to objects the gate learns from the store's listener.
WatchSink gated(WatchSink sink, WriteGate& gate, std::string_view plural);

}  // namespace kantha::runtime
