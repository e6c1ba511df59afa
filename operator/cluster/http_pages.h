#pragma once

#include <functional>
#include <string>

#include "base/metrics.h"
#include "base/net/http.h"
#include "operator/cluster/debug_view.h"

/// What kubelet, Prometheus and people read of an operator.
///
///   GET /live          200 while the process answers
///   GET /ready         200 once the cluster is in view; 503 before
///   GET /metrics       Prometheus' text
///   GET /debug/state   JSON: what is watched, queued, failed and waited for; ?format=text: a page
namespace kantha::cluster {

struct PageSource {
  std::function<bool()> is_ready;
  std::function<DebugView()> state;
  const MetricRegistry& metrics;
  std::function<std::string()> more_metrics;  ///< text behind the registry's
};

/// Answers one request; pure but for the source's functions. Any thread that those allow.
net::HttpResponse answer_page(const net::HttpRequest& request, const PageSource& source);

}  // namespace kantha::cluster
