#pragma once

#include <string>

#include "bench/load/report.h"

/// The report for a terminal: plain text, 100 columns, no colours. Pure.
namespace kantha::bench {

std::string table_of(const BenchReport& report);

/// "ttft_ms_p50" as people read it: "TTFT p50 (ms)".
std::string figure_title(const std::string& figure);

}  // namespace kantha::bench
