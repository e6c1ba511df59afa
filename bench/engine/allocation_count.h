#pragma once

#include <cstdint>

namespace kantha::bench {

/// Allocations that the calling thread has made through operator new since it started. Linking
/// allocation_count.cc replaces the global operators.
std::int64_t allocations_here();

}  // namespace kantha::bench
