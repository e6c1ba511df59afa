#pragma once

#include "base/json.h"

/// How a child is brought back when server-side apply cannot: an apply merges lists by key and
/// leaves fields of others alone, so that what somebody edited by hand can stay in its way for
/// ever. A port whose number was changed has our name under another key; a budget with minAvailable
/// takes no maxUnavailable beside it. Pure; any thread.
namespace kantha::serving {

/// JSON Patch that makes the spec of `live` what `wanted` says and nothing else, but for what the
/// server allocated to a Service (its addresses) and lets nobody change. It fails as a whole when
/// the object is not the one, or not as it was read. Both must have metadata and a spec.
OrderedJson render_child_reset(const Json& live, const OrderedJson& wanted);

/// Whether no edit leads from one to the other: a Service can't lose or get a cluster address.
bool must_be_remade(const Json& live, const OrderedJson& wanted);

}  // namespace kantha::serving
