#pragma once

#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/net/http.h"
#include "operator/metricsapi/metric_path.h"
#include "operator/metricsapi/metric_table.h"

/// Metric queries → MetricValueLists. Pure but for the table; its thread.
/// Source: k8s.io/metrics custom_metrics/v1beta1 and v1beta2, their JSON names.
namespace kantha::metricsapi {

/// The same instant on both clocks.
struct Instant {
  TimePoint now;
  WallTime wall;
};

/// A number as a Quantity in milli-units: 0.85 is "850m", 2 is "2". Never an exponent.
std::string quantity_text(double value);

/// When a sample was taken, as metav1.Time: "2026-11-29T21:40:00Z".
std::string sample_time_text(TimePoint taken, Instant at);

/// A failure as Kubernetes answers it: a Status object with code, reason and message.
net::HttpResponse failure_answer(int status, const std::string& reason, const std::string& message);

/// Answers `query.is_metric()` of custom.metrics.k8s.io:
///   pods/*       one item for each selected pod that has a fresh sample
///   pods/NAME    that pod's item, or 404
///   modelservings.serving.kantha.dev/NAME (or *)   the fleet's: demand over capacity for
///                kv_pressure, the sum for all others; 404 while no pod has a sample
/// 404 NotFound: an unknown metric, resource or object; 400: a selector that is none.
net::HttpResponse answer_metric(const ApiQuery& query, const MetricTable& table, Instant at);

/// Answers `query.is_external()`: an ExternalMetricValueList with one item for each ModelServing of
/// the namespace that labelSelector selects, labelled serving.kantha.dev/name: the sum over its
/// pods, so that an HPA's AverageValue is the mean.
///
/// An external metric has no missing pods. So a fleet in which a pod fell silent has no item (the
/// count then stays, where a sum without that pod would take pods away), and pods that load count
/// as idle. Source: k8s.io/metrics external_metrics/v1beta1, its JSON names.
net::HttpResponse answer_external(const ApiQuery& query, const MetricTable& table, Instant at);

}  // namespace kantha::metricsapi
