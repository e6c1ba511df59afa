#pragma once

#include <string>

#include "base/json.h"
#include "operator/serving/cluster_object.h"

/// The Secret with the token of the pods' admin API. Pure; any thread.
namespace kantha::serving {

/// The document to POST, once: an existing Secret is never written again, and its token is read by
/// GET of this one name. `token` is text (32 random bytes as base64url).
OrderedJson render_admin_secret(const ClusterServing& owner, const std::string& token);

}  // namespace kantha::serving
