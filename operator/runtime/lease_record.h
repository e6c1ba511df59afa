#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/json.h"

/// spec of a coordination.k8s.io/v1 Lease. Values; any thread.
/// Source: Kubernetes API reference, "Lease".
namespace kantha::runtime {

struct LeaseRecord {
  std::string holder = {};  ///< empty: nobody, or nobody knows
  std::int64_t duration_seconds = 0;
  std::string acquire_time =
      {};  ///< RFC 3339 with microseconds; for people, never compared with ours
  std::string renew_time = {};
  std::int64_t transitions = 0;  ///< how often it changed hands
  bool operator==(const LeaseRecord&) const = default;
  /// Given back by its holder; an empty holder alone may also be somebody's edit.
  bool is_released() const { return holder.empty() && duration_seconds == 1; }
};

/// Reads what can be read: a field of another type counts as absent, so that a garbled Lease is a
/// record like any other, of no known holder.
LeaseRecord lease_record_from_json(const Json& lease);

/// The Lease to write: `lease` as it was read (or null for a new one) with this spec; labels,
/// annotations and resourceVersion stay as they were.
Json lease_with_record(Json lease, const std::string& name_space, const std::string& name,
                       const LeaseRecord& record);

/// metav1.MicroTime: "2026-11-29T12:00:00.000001Z".
std::string micro_time(WallTime time);

}  // namespace kantha::runtime
