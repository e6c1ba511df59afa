#include "tests/fake/api_server/call_faults.h"

#include <utility>

#include "base/rng.h"

namespace kantha::fake {

FaultRule seeded_faults(std::uint64_t seed, FaultRates rates) {
  return [seed, rates](std::uint64_t index, const ApiRequest&) {
    const std::pair<double, FaultKind> kinds[] = {
        {rates.refuse, FaultKind::kRefuse},
        {rates.drop_answer, FaultKind::kDropAnswer},
        {rates.hang, FaultKind::kHang},
        {rates.error_before, FaultKind::kErrorBefore},
        {rates.error_after, FaultKind::kErrorAfter},
        {rates.throttle, FaultKind::kThrottle},
        {rates.garble, FaultKind::kGarble},
    };
    Fault fault;
    double at = random_unit(seed, 4 * index);
    for (const auto& [rate, kind] : kinds) {
      if (at < rate) {
        fault.kind = kind;
        break;
      }
      at -= rate;
    }
    if (random_unit(seed, 4 * index + 1) < rates.delay) {
      const double share = random_unit(seed, 4 * index + 2);
      const auto delay = std::chrono::duration_cast<Duration>(rates.delay_max * share);
      (random_bits(seed, 4 * index + 3) % 2 == 0 ? fault.delay_before : fault.delay_after) = delay;
    }
    return fault;
  };
}

FaultRule crash_at(std::uint64_t index, bool after) {
  return [index, after](std::uint64_t at, const ApiRequest&) {
    if (at != index) return Fault{};
    return Fault{.kind = after ? FaultKind::kCrashAfter : FaultKind::kCrashBefore};
  };
}

}  // namespace kantha::fake
