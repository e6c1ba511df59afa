#pragma once

#include <string>

#include "operator/local/world_view.h"

/// The sentences of `kantha up`. Pure; any thread.
namespace kantha::cli {

/// "ready: http://127.0.0.1:8000/v1  model m  (1 of 1 pods, 0.8 s)"
std::string ready_line(const local::WorldView& view, Duration since_start);

/// "no pods: \"m\" is scaled to 0; …": told instead of the ready line.
std::string vacant_line(const local::WorldView& view);

/// A curl line and three lines of openai-python that work as they stand.
std::string usage_example(const local::WorldView& view);

/// Why waiting for readiness is pointless, or empty: no replicas wanted, or no pod is available and
/// one is in its crash loop, or its noded ended three times.
std::string hopeless(const local::WorldView& view);

/// "127.0.0.1" and other addresses that only this machine can reach.
bool is_loopback(const std::string& host);

}  // namespace kantha::cli
