#pragma once

#include "base/json.h"

/// Whether applying a document would change anything. Pure; any thread.
namespace kantha::serving {

/// True when `live`, as the API server gave it, already has everything that `wanted` says, so that
/// no write is needed. Reads the two as server-side apply would merge them:
///   - objects by key; what only `live` has (defaults, other managers' fields) is ignored;
///   - Kubernetes' list maps by their keys (containers, volumes, env by name; ports by port and
///     protocol; mounts by mountPath; owner references by uid; …), in any order, others' entries
///     ignored;
///   - finalizers as a set, and tolerations, to which admission adds its own;
///   - selectors of Services and budgets as a whole, for one key more selects fewer pods;
///   - other lists (args, drop, items) as a whole, in order;
///   - quantities by value: "1000m" is "1" (under requests, limits, sizeLimit);
///   - an empty object, and publishNotReadyAddresses false, is covered by its absence, for the
///     server drops some of them;
///   - apiVersion and kind may be missing in `live`: items of a list carry none;
///   - stringData of a Secret is not compared: the server stores it encoded.
bool covers(const Json& live, const OrderedJson& wanted);

}  // namespace kantha::serving
