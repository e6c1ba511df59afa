#pragma once

#include "noded/api/service_sample.h"
#include "noded/gateway/forward_outcome.h"

/// What one request says of this pod's engine. Pure; any thread.
namespace kantha::noded {

/// Adds an outcome to the sample. Counted are requests that went to this pod's own engine last:
/// those of other pods, too, that were sent here; not those that this pod sent to others, nor those
/// of clients that left (but for one that waited half a minute for a first byte: a failure).
void note_outcome(const ForwardOutcome& outcome, ServiceSample& sample);

}  // namespace kantha::noded
