#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Request targets of the metrics API, taken apart. Pure; any thread.
namespace kantha::metricsapi {

inline constexpr const char* kMetricsGroup = "custom.metrics.k8s.io";
inline constexpr const char* kExternalGroup = "external.metrics.k8s.io";
inline constexpr const char* kExternalVersion = "v1beta1";
/// The group that modelservings are in, as paths name it.
inline constexpr const char* kServingGroup = "serving.kantha.dev";

/// What a request asks for, as the API server's RequestInfo would say it.
struct ApiQuery {
  std::string path;     ///< decoded, for rules on paths that are no resources
  std::string group;    ///< kMetricsGroup or kExternalGroup; empty: not a metric
  std::string version;  ///< "v1beta2"
  std::string name_space;
  std::string resource;  ///< "pods", "modelservings.serving.kantha.dev"; of an external one none
  std::string name;      ///< of the object; "*": all that are selected; of an external one none
  std::string metric;
  std::string label_selector;
  std::string metric_selector;

  bool is_metric() const { return !metric.empty(); }
  bool is_external() const { return group == kExternalGroup; }
};

/// Percent-decodes one part of a path or a query (where "+" is a blank).
/// kInvalidArgument: a "%" without two hex digits, or a control character.
Result<std::string> percent_decoded(std::string_view text, bool is_query);

/// kInvalidArgument: a part that cannot be decoded, or a target beyond 8 KiB. A path of another
/// shape is no metric, and no error here.
Result<ApiQuery> parse_api_query(std::string_view target);

}  // namespace kantha::metricsapi
