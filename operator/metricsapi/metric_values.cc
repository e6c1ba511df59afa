#include "operator/metricsapi/metric_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/net/json_answer.h"
#include "operator/metricsapi/label_selector.h"

namespace kantha::metricsapi {
namespace {

constexpr const char* kNameLabel = "serving.kantha.dev/name";
constexpr const char* kServings = "modelservings.serving.kantha.dev";

struct ObjectName {
  const char* kind;
  std::string api_version;
  std::string name;
};

/// One value in the words of the version that was asked for.
Json item(const ApiQuery& query, const ObjectName& object, double value, const std::string& taken) {
  Json out;
  out["describedObject"] = {{"kind", object.kind},
                            {"namespace", query.name_space},
                            {"name", object.name},
                            {"apiVersion", object.api_version}};
  if (query.version == "v1beta1") {
    out["metricName"] = query.metric;
    out["selector"] = nullptr;
  } else {
    out["metric"] = {{"name", query.metric}, {"selector", nullptr}};
  }
  out["timestamp"] = taken;
  out["value"] = quantity_text(value);
  return out;
}

net::HttpResponse list_answer(const ApiQuery& query, Json items) {
  return net::json_answer(200, {{"kind", "MetricValueList"},
                                {"apiVersion", std::string(kMetricsGroup) + "/" + query.version},
                                {"metadata", Json::object()},
                                {"items", std::move(items)}});
}

net::HttpResponse nothing_of(const ApiQuery& query) {
  return failure_answer(404, "NotFound",
                        "no fresh sample of " + query.metric + " for " + query.resource + " \"" +
                            query.name + "\" in namespace " + query.name_space);
}

net::HttpResponse answer_pods(const ApiQuery& query, Metric metric, const LabelSelector& selector,
                              const MetricTable& table, Instant at) {
  Json items = Json::array();
  for (const PodEntry* pod : table.pods(query.name_space)) {
    if (query.name == "*" ? !selector.selects(pod->labels) : pod->name != query.name) continue;
    const Sample* sample = MetricTable::fresh(*pod, at.now);
    if (sample == nullptr) continue;
    items.push_back(item(query, {"Pod", "v1", pod->name}, sample->value(metric),
                         sample_time_text(sample->taken, at)));
  }
  if (items.empty() && query.name != "*") return nothing_of(query);
  return list_answer(query, std::move(items));
}

/// The figures of one fleet.
struct FleetSum {
  double sum = 0;
  double demand = 0;
  double capacity = 0;
  TimePoint oldest = TimePoint::max();

  void add(const Sample& sample, Metric metric) {
    sum += sample.value(metric);
    demand += sample.value(Metric::kKvPressure) * sample.kv_blocks_total;
    capacity += sample.kv_blocks_total;
    oldest = std::min(oldest, sample.taken);
  }
  double value(Metric metric) const {
    if (metric != Metric::kKvPressure) return sum;
    return capacity > 0 ? demand / capacity : 0;
  }
};

net::HttpResponse answer_servings(const ApiQuery& query, Metric metric,
                                  const LabelSelector& selector, const MetricTable& table,
                                  Instant at) {
  std::map<std::string, FleetSum> fleets;
  for (const PodEntry* pod : table.pods(query.name_space)) {
    if (query.name == "*" ? !selector.selects(pod->labels) : pod->serving != query.name) continue;
    const Sample* sample = MetricTable::fresh(*pod, at.now);
    if (sample != nullptr) fleets[pod->serving].add(*sample, metric);
  }
  if (fleets.empty() && query.name != "*") return nothing_of(query);
  Json items = Json::array();
  for (const auto& [name, fleet] : fleets) {
    items.push_back(item(query, {"ModelServing", "serving.kantha.dev/v1alpha1", name},
                         fleet.value(metric), sample_time_text(fleet.oldest, at)));
  }
  return list_answer(query, std::move(items));
}

/// One fleet's item of an external metric, under way.
struct ExternalSum {
  double sum = 0;
  TimePoint oldest = TimePoint::max();
  bool is_whole = true;  ///< no pod of it fell silent
};

net::HttpResponse external_list(const ApiQuery& query,
                                const std::map<std::string, ExternalSum>& fleets, Instant at) {
  Json items = Json::array();
  for (const auto& [name, fleet] : fleets) {
    if (!fleet.is_whole || fleet.oldest == TimePoint::max()) continue;
    items.push_back({{"metricName", query.metric},
                     {"metricLabels", {{kNameLabel, name}}},
                     {"timestamp", sample_time_text(fleet.oldest, at)},
                     {"value", quantity_text(fleet.sum)}});
  }
  return net::json_answer(200, {{"kind", "ExternalMetricValueList"},
                                {"apiVersion", std::string(kExternalGroup) + "/" + query.version},
                                {"metadata", Json::object()},
                                {"items", std::move(items)}});
}

}  // namespace

std::string sample_time_text(TimePoint taken, Instant at) {
  const WallTime wall = at.wall - std::chrono::duration_cast<WallTime::duration>(at.now - taken);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(wall)));
}

std::string quantity_text(double value) {
  const double milli = std::isfinite(value) ? std::round(value * 1000) : 0;
  const auto whole = static_cast<long long>(std::min(std::max(milli, 0.0), 9e15));
  if (whole % 1000 == 0) return std::to_string(whole / 1000);
  return std::to_string(whole) + "m";
}

net::HttpResponse failure_answer(int status, const std::string& reason,
                                 const std::string& message) {
  return net::json_answer(status, {{"kind", "Status"},
                                   {"apiVersion", "v1"},
                                   {"metadata", Json::object()},
                                   {"status", "Failure"},
                                   {"message", message},
                                   {"reason", reason},
                                   {"code", status}});
}

net::HttpResponse answer_metric(const ApiQuery& query, const MetricTable& table, Instant at) {
  const std::optional<Metric> metric = metric_of(query.metric);
  if (!metric) {
    return failure_answer(404, "NotFound", "there is no metric \"" + query.metric + "\"");
  }
  const Result<LabelSelector> selector = LabelSelector::parse(query.label_selector);
  if (!selector.ok()) return failure_answer(400, "BadRequest", selector.error().message);
  // Our values carry no labels of their own; a selector on them selects nothing but the empty one.
  const Result<LabelSelector> of_values = LabelSelector::parse(query.metric_selector);
  if (!of_values.ok()) return failure_answer(400, "BadRequest", of_values.error().message);
  if (!of_values->selects({})) return list_answer(query, Json::array());
  if (query.resource == "pods") return answer_pods(query, *metric, *selector, table, at);
  if (query.resource == kServings) return answer_servings(query, *metric, *selector, table, at);
  return failure_answer(404, "NotFound", "there are no metrics of " + query.resource);
}

net::HttpResponse answer_external(const ApiQuery& query, const MetricTable& table, Instant at) {
  const std::optional<Metric> metric = metric_of(query.metric);
  if (!metric) {
    return failure_answer(404, "NotFound", "there is no metric \"" + query.metric + "\"");
  }
  const Result<LabelSelector> selector = LabelSelector::parse(query.label_selector);
  if (!selector.ok()) return failure_answer(400, "BadRequest", selector.error().message);
  std::map<std::string, ExternalSum> fleets;
  for (const PodEntry* pod : table.pods(query.name_space)) {
    if (!pod->sample || !selector->selects({{kNameLabel, pod->serving}})) continue;
    ExternalSum& fleet = fleets[pod->serving];
    const Sample* sample = MetricTable::fresh(*pod, at.now);
    fleet.is_whole = fleet.is_whole && sample != nullptr;
    if (sample == nullptr) continue;
    fleet.sum += sample->value(*metric);
    fleet.oldest = std::min(fleet.oldest, sample->taken);
  }
  return external_list(query, fleets, at);
}

}  // namespace kantha::metricsapi
