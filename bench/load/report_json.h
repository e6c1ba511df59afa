#pragma once

#include "base/json.h"
#include "bench/load/report.h"

/// The report for programs; docs/bench.md has the schema. Pure.
namespace kantha::bench {

/// Names the schema; changes when a field changes its meaning, not when one is added.
inline constexpr const char* kReportSchema = "kantha.bench/1";

/// Unknown figures are null, never 0.
OrderedJson json_of(const BenchReport& report);

}  // namespace kantha::bench
