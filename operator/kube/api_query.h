#pragma once

#include <string>

#include "operator/kube/api_client.h"

/// Paths and queries of requests. Pure; values are percent-encoded.
/// Source: Kubernetes API reference, "Common Parameters".
namespace kantha::kube {

std::string list_target(const Resource& resource, const std::string& name_space,
                        const ListOptions& options);
/// Always asks for bookmarks; a WatchList also for an answer not older than its version.
std::string watch_target(const Resource& resource, const std::string& name_space,
                         const WatchOptions& options);
std::string patch_target(const Resource& resource, const ObjectKey& key,
                         const PatchOptions& options);

}  // namespace kantha::kube
