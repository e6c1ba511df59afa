#pragma once

#include <optional>
#include <string>

#include "base/net/http.h"

/// What the metrics API says of itself. Pure; any thread.
/// Source: Kubernetes docs "The Kubernetes API", discovery (legacy and aggregated).
namespace kantha::metricsapi {

/// Answers /apis, /apis/GROUP, /apis/GROUP/VERSION and /openapi/v2, v3; nullopt for other paths.
/// The group of external metrics is there only with `has_external`.
/// /apis gives the aggregated document to whoever accepts it, else the legacy list. Documents have
/// an ETag, and If-None-Match with it is answered 304. 406: no clause of Accept can be met.
std::optional<net::HttpResponse> answer_discovery(const net::HttpRequest& request,
                                                  const std::string& path,
                                                  bool has_external = false);

/// Whether JSON (or anything) is among what the client takes; true without the header.
bool accepts_json(const net::HttpRequest& request);

}  // namespace kantha::metricsapi
