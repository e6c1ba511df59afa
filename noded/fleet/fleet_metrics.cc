#include "noded/fleet/fleet_metrics.h"

#include <array>

namespace kantha::noded {
namespace {

struct CountSeries {
  const char* name;
  const char* help;
  std::int64_t FleetCounts::* member;
};
constexpr std::array kCounts = {
    CountSeries{"kantha_noded_forward_requests_total", "Requests sent to another pod",
                &FleetCounts::forwarded},
    CountSeries{"kantha_noded_forward_refused_total", "Of those, that it took nothing on of",
                &FleetCounts::refused},
    CountSeries{"kantha_noded_forward_failed_total", "Of those, without an answer to the end",
                &FleetCounts::failed},
    CountSeries{"kantha_noded_forward_disbelieved_total",
                "Answers of somebody who is not the pod that the view names",
                &FleetCounts::disbelieved},
    CountSeries{"kantha_noded_forward_breakers_opened_total", "Times that a peer was given up",
                &FleetCounts::opened},
    CountSeries{"kantha_noded_forward_load_questions_total", "Questions for a peer's load",
                &FleetCounts::asked},
    CountSeries{"kantha_noded_forward_views_taken_total", "Fleet views that were taken",
                &FleetCounts::views_taken},
    CountSeries{"kantha_noded_forward_views_refused_total", "Fleet views that were refused",
                &FleetCounts::views_refused},
};

}  // namespace

void open_fleet_metrics(MetricRegistry& metrics, const std::string& pod, const FleetRouter& router,
                        const HopDoor& door) {
  const MetricLabels labels = {{"pod", pod}};
  for (const CountSeries& series : kCounts) {
    const std::int64_t& count = router.counts().*series.member;
    metrics.counter(series.name, series.help, labels,
                    [&count] { return static_cast<double>(count); });
  }
  metrics.counter("kantha_noded_forward_forged_hops_total",
                  "Requests that said they came from a pod and did not", labels,
                  [&door] { return static_cast<double>(door.forged()); });
  metrics.gauge("kantha_noded_forward_peers", "Other pods in the fleet view", labels,
                [&router] { return static_cast<double>(router.peer_count()); });
  metrics.gauge("kantha_noded_forward_view_age_seconds",
                "Age of the fleet view; -1 when there is none", labels, [&router] {
                  const std::optional<Duration> age = router.view_age();
                  return age ? std::chrono::duration<double>(*age).count() : -1.0;
                });
}

}  // namespace kantha::noded
