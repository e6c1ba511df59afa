#pragma once

#include "base/net/task.h"
#include "operator/cluster/pass.h"
#include "operator/serving/render_activator_slice.h"

/// The EndpointSlice that leads an object's Service to the activators: there while it is wanted,
/// and gone otherwise. One executor.
///
/// Nobody watches these slices: there are few, each lives for the time that its object sleeps, and
/// all that is in them is known here. What this process wrote last it holds to be so for a minute,
/// then it looks.
namespace kantha::cluster {

/// Leads requests to `route`. True: they are, as far as was written.
net::Task<bool> open_door(Pass& pass, serving::ActivatorRoute route);
/// Leads no request there any more. True: some were until now.
net::Task<bool> close_door(Pass& pass);

}  // namespace kantha::cluster
