#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

/// The engine's configuration as the pod's daemon hands it on. It is a JSON object of at most 1
/// MiB; what is in it is the engine's matter. Any thread.
namespace kantha::noded {

inline constexpr std::size_t kConfigBytesMax = 1u << 20;

/// kOutOfRange beyond the bound, kInvalidArgument for anything but a JSON object.
Status check_config_text(std::string_view text);

/// Brings the configuration from where the pod was told it (a projected annotation) to where the
/// engine reads it, in one step, and gives its hash.
///
/// Copied when there is nothing at `target`, or something else that is not younger than the source:
/// a younger one came by a push, and the projection of the same text lags behind it by a minute.
/// Errors name the file; then nothing was written.
Result<std::string> adopt_config(const std::string& source, const std::string& target);

}  // namespace kantha::noded
