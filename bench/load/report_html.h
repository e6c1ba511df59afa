#pragma once

#include <string>

#include "bench/load/report.h"

/// The report as one page for people: no script, nothing from the network, plots as inline SVG;
/// light and dark, readable on a phone. Everything that came from outside is escaped. Pure.
namespace kantha::bench {

std::string html_of(const BenchReport& report);

}  // namespace kantha::bench
