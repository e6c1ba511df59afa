#pragma once

#include <string>

#include "base/metrics.h"
#include "noded/fleet/fleet_router.h"
#include "noded/fleet/hop_door.h"

namespace kantha::noded {

/// Puts the series kantha_noded_forward_* into the registry; router and door must outlive it.
void open_fleet_metrics(MetricRegistry& metrics, const std::string& pod, const FleetRouter& router,
                        const HopDoor& door);

}  // namespace kantha::noded
