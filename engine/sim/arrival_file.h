#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "base/result.h"
#include "engine/sim/workload.h"

/// A recorded workload: one JSON object per line.
///
///   {"at_ms": 12.5, "prompt_tokens": 300, "output_tokens": 120,
///    "prefix_id": "a", "prefix_tokens": 64,          both or neither
///    "tenant": "t", "class": "interactive", "priority": 0, "timeout_ms": 5000}
///
/// The first three are required; empty lines are skipped; times do not fall.
namespace kantha::sim {

inline constexpr std::size_t kLineBytesMax = 4096;
inline constexpr std::int64_t kTokensMax = 1 << 20;           ///< of a prompt, of an output
inline constexpr double kAtMsMax = 366.0 * 24 * 3600 * 1000;  ///< a year
inline constexpr std::size_t kNamesMax = 100'000;             ///< tenants, prefixes
inline constexpr std::size_t kNameBytesMax = 256;

/// Reads to the end; memory is bounded by kArrivalsMax, kNamesMax and kLineBytesMax, at which it
/// stops with an error. kInvalidArgument: "line 3: prompt_tokens: expected an integer in
/// [1, 1048576], got "x"".
Result<Workload> read_arrivals(std::istream& lines);

/// The same of a file; kNotFound and the path when it cannot be opened.
Result<Workload> read_arrival_file(const std::string& path);

}  // namespace kantha::sim
