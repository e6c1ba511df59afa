#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

/// Times as Kubernetes writes them (RFC 3339). Pure; any thread.
namespace kantha::serving {

/// "2026-11-29T21:40:00Z": UTC, whole seconds, as metav1.Time.
std::string timestamp_text(WallTime time);

/// Reads "2026-11-29T21:40:00Z", with a fraction (metav1.MicroTime) or an offset ("+02:00") too;
/// nullopt for anything else. A fraction is cut to microseconds.
std::optional<WallTime> timestamp_from_text(std::string_view text);

}  // namespace kantha::serving
