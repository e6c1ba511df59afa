#include "operator/serving/scale_up_news.h"

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "operator/serving/bounded_text.h"

namespace kantha::serving {
namespace {

using Is = ScaleUpNews::Is;

constexpr std::size_t kMessageMax = 256;

Is kind_of(const std::string& reason) {
  if (reason == "TriggeredScaleUp" || reason == "Nominated") return Is::kTriggered;
  return reason == "NotTriggerScaleUp" ? Is::kRefused : Is::kNothing;
}

/// As Kubernetes writes times they sort as texts, but for a fraction that only some have.
std::string time_of(const Json& event) {
  std::string newest;
  for (std::string time : {text_at(event, "lastTimestamp"), text_at(event, "eventTime"),
                           text_at(event, "series", "lastObservedTime")}) {
    newest = std::max(newest, time.substr(0, time.find_first_of(".Z")));
  }
  return newest;
}

}  // namespace

ScaleUpNews scale_up_news(const std::vector<Json>& events, std::string_view pod_uid) {
  ScaleUpNews out;
  std::string newest;
  for (const Json& event : events) {
    const Is is = kind_of(text_at(event, "reason"));
    if (is == Is::kNothing || text_at(event, "involvedObject", "uid") != pod_uid) continue;
    std::string time = time_of(event);
    if (out.is != Is::kNothing && time < newest) continue;
    newest = std::move(time);
    out = {is, bounded_text(text_at(event, "message"), kMessageMax)};
  }
  return out;
}

}  // namespace kantha::serving
