#pragma once

#include <functional>
#include <string>

#include "base/json.h"
#include "base/net/http_server.h"
#include "base/result.h"

/// The control API of a running world, on <run folder>/control.sock. One executor.
///
///   GET /apis/serving.kantha.dev/v1alpha1/modelservings               a list with one item
///   GET /apis/serving.kantha.dev/v1alpha1/modelservings/{name}        the object
///   PATCH /apis/serving.kantha.dev/v1alpha1/modelservings/{name}      spec.rollout's paused,
///   abort,
///                                                                   promote, as a merge patch
///   PUT /apis/serving.kantha.dev/v1alpha1/modelservings/{name}/scale  {"spec":{"replicas":3}}
///
/// Paths and bodies are those of the Kubernetes API, without a namespace; errors are its Status
/// objects with code and message.
namespace kantha::local {

inline constexpr const char* kModelServingsPath = "/apis/serving.kantha.dev/v1alpha1/modelservings";

/// What the API needs of the world.
struct ControlTarget {
  std::string name;
  std::function<Json()> object;  ///< spec and status now
  std::function<Status(std::int64_t replicas)> scale;
  std::function<Status(const Json& patch)> patch = {};
};

/// Answers one request; pure but for the target's functions.
net::HttpResponse answer_control(const net::HttpRequest& request, const ControlTarget& target);

}  // namespace kantha::local
