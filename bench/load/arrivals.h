#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "bench/load/workload.h"

/// When requests of an open loop are due. Pure. Any thread.
namespace kantha::bench {

/// One line of a trace.
struct TraceEntry {
  Duration due{};
  RequestShape shape = {};
};

/// Due times of a Poisson process of that rate: exponential gaps, from 0 on, until `requests` are
/// there (0: no limit) or `length` is reached (0: no limit); at most a million.
std::vector<Duration> poisson_arrivals(double rate_per_s, std::size_t requests, Duration length,
                                       std::uint64_t seed, std::uint64_t first_index);

/// One JSON object a line, as `kantha sim --trace` reads them: {"at_ms": 120, "prompt_tokens": 300,
/// "output_tokens": 40} and optionally "prefix_id" (a string) with "prefix_tokens": prompts of
/// equal ids share that many first tokens. The names "timestamp", "input_length" and
/// "output_length" of public traces are known, too; other fields are skipped. Entries are sorted by
/// time and moved so that the first is at 0. kInvalidArgument names the line and the field; at most
/// a million lines.
Result<std::vector<TraceEntry>> parse_trace(std::string_view text);

}  // namespace kantha::bench
