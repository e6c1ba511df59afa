#include "bench/autoscale/fleet_run.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

#include "operator/serving/scale_law.h"

namespace kantha::autoscale {
namespace {

constexpr double kTickS = 0.25;
constexpr double kSyncS = 15;
constexpr double kScrapeS = 15;
/// Between a scrape and the HPA's next look.
constexpr double kScrapeAgeS = 7;
constexpr std::size_t kCpuWindowS = 15;

TimePoint time_of(double seconds) {
  return TimePoint{} + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

struct Member {
  SimulatedPod pod;
  double born_s = 0;
  std::deque<double> busy_s = {};  ///< of each second that it served, the last window
};

/// A second's figures, as whoever collects them saw them.
struct Sight {
  double at_s = 0;
  std::vector<double> figures;  ///< of each pod that has one, falling
};

class FleetRun {
 public:
  FleetRun(const std::vector<Arrival>& day, const Rule& rule, const FleetShape& shape)
      : day_(day), rule_(rule), shape_(shape), wanted_(shape.min_pods) {
    // The fleet is there when the day begins.
    for (std::int64_t i = 0; i < wanted_; ++i) add_pod(-shape.start_s);
  }

  FleetReport take() {
    const double length = day_.empty() ? 0 : day_.back().at_s;
    std::size_t next = 0;
    for (double now = 0; now < length || has_work(); now += kTickS) {
      const double end = now + kTickS;
      for (; next < day_.size() && day_[next].at_s < end; ++next) route(day_[next]);
      for (const auto& member : fleet_) member->pod.run_until(end, done_);
      end_drained(end);
      if (is_each(end, 1)) look(end);
      if (is_each(end, kSyncS) && end < length) scale(end);
    }
    return report();
  }

 private:
  static bool is_each(double now, double period, double phase = 0) {
    return std::fmod(now + period - phase, period) < kTickS / 2;
  }

  void add_pod(double born) {
    fleet_.push_back(std::make_unique<Member>(
        Member{SimulatedPod(shape_.pod, born + shape_.start_s), std::max(0.0, born)}));
  }

  bool has_work() const {
    return std::any_of(fleet_.begin(), fleet_.end(),
                       [](const auto& member) { return !member->pod.is_empty(); });
  }

  SimulatedPod* least_loaded(double now) {
    SimulatedPod* best = nullptr;
    for (const auto& member : fleet_) {
      SimulatedPod& pod = member->pod;
      if (!pod.is_ready(now) || pod.is_draining()) continue;
      if (best == nullptr || pod.requests() < best->requests()) best = &pod;
    }
    return best;
  }

  void route(const Arrival& arrival) {
    Request request;
    request.arrived_s = arrival.at_s;
    request.prompt_left = request.prompt_tokens = arrival.prompt_tokens;
    request.output_left = request.output_tokens = arrival.output_tokens;
    least_loaded(arrival.at_s)->take(request);
  }

  void end_drained(double now) {
    std::erase_if(fleet_, [&](const auto& member) {
      if (!member->pod.is_draining() || !member->pod.is_empty()) return false;
      pod_seconds_ += now - member->born_s;
      return true;
    });
  }

  /// The pod's figure; nullopt while it has none.
  std::optional<double> value_of(const Member& member) const {
    switch (rule_.signal) {
      case Signal::kPressure: return member.pod.pressure();
      case Signal::kGauge: return member.pod.occupancy();
      case Signal::kQueueDepth: return static_cast<double>(member.pod.waiting());
      case Signal::kCpu: break;
    }
    if (member.busy_s.size() < kCpuWindowS) return std::nullopt;
    const double sum = std::accumulate(member.busy_s.begin(), member.busy_s.end(), 0.0);
    return std::min(1.0, sum / static_cast<double>(kCpuWindowS));
  }

  void look(double now) {
    Sight sight{now, {}};
    for (const auto& member : fleet_) {
      if (member->pod.is_draining()) continue;
      std::optional<double> value;
      if (member->pod.is_ready(now)) {
        member->busy_s.push_back(member->pod.take_busy_s());
        if (member->busy_s.size() > kCpuWindowS) member->busy_s.pop_front();
        value = value_of(*member);
      }
      if (value) sight.figures.push_back(*value);
    }
    std::sort(sight.figures.begin(), sight.figures.end(), std::greater<>());
    const bool is_scrape = is_each(now, kScrapeS, kScrapeS - kScrapeAgeS);
    if (rule_.signal == Signal::kPressure || is_scrape) sights_.push_back(std::move(sight));
    while (sights_.size() > 3) sights_.pop_front();
  }

  /// What is known by now: the scrape before this, or what was so a second ago.
  const Sight& seen(double now) const {
    const bool is_too_new = sights_.size() > 1 && now - sights_.back().at_s < 1;
    return is_too_new ? sights_[sights_.size() - 2] : sights_.back();
  }

  serving::ScaleInput input(const Sight& sight) const {
    serving::ScaleInput out;
    out.current = wanted_;
    out.spec.min_replicas = shape_.min_pods;
    out.spec.max_replicas = shape_.max_pods;
    out.spec.target_kv_pressure = rule_.target;
    if (rule_.signal == Signal::kQueueDepth) {
      // An external metric is of the fleet: no pod of it is missing.
      const double sum = std::accumulate(sight.figures.begin(), sight.figures.end(), 0.0);
      const double each = sum / static_cast<double>(wanted_);
      out.pods.assign(static_cast<std::size_t>(wanted_), {"", each, {}, ""});
      return out;
    }
    // A pod that went since then (the least loaded goes) is not counted, one that came has none.
    const auto count = std::min(sight.figures.size(), static_cast<std::size_t>(wanted_));
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      out.pods.push_back({"", sight.figures[i], {}, ""});
      sum += sight.figures[i];
    }
    // Of a resource, pods that are not ready count (as idle) only on the way up.
    const bool is_down = sum <= rule_.target * static_cast<double>(count);
    if (rule_.signal == Signal::kCpu && is_down) return out;
    for (auto i = static_cast<std::int64_t>(count); i < wanted_; ++i) {
      out.pods.push_back({"", {}, {}, "loading"});
    }
    return out;
  }

  void scale(double now) {
    const std::int64_t before = wanted_;
    wanted_ = law_.decide(input(seen(now)), time_of(now)).wanted;
    changes_ += wanted_ != before ? 1 : 0;
    most_ = std::max(most_, wanted_);
    std::int64_t staying = std::count_if(fleet_.begin(), fleet_.end(), [](const auto& member) {
      return !member->pod.is_draining();
    });
    for (; staying < wanted_; ++staying) add_pod(now);
    for (; staying > wanted_; --staying) remove_one(now);
  }

  void remove_one(double now) {
    Member* victim = nullptr;
    const auto rank = [&](const Member& member) {
      return std::pair(member.pod.is_ready(now), member.pod.requests());
    };
    for (const auto& member : fleet_) {
      if (member->pod.is_draining()) continue;
      if (victim == nullptr || rank(*member) < rank(*victim)) victim = member.get();
    }
    for (const Request& request : victim->pod.drain()) least_loaded(now)->take(request);
  }

  FleetReport report() {
    for (const auto& member : fleet_) pod_seconds_ += day_.back().at_s - member->born_s;
    FleetReport out;
    out.requests = static_cast<std::int64_t>(done_.size());
    out.pod_hours = pod_seconds_ / 3600;
    out.most_pods = most_;
    out.changes = changes_;
    std::vector<double> waits;
    for (const Outcome& one : done_) {
      waits.push_back(one.wait_s);
      out.given_up += one.was_given_up ? 1 : 0;
      out.good += !one.was_given_up && one.wait_s <= shape_.slo_first_s &&
                          one.per_token_s <= shape_.slo_token_s
                      ? 1
                      : 0;
    }
    if (waits.empty()) return out;
    const auto p99 = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() * 99 / 100);
    std::nth_element(waits.begin(), p99, waits.end());
    out.p99_wait_s = *p99;
    return out;
  }

  const std::vector<Arrival>& day_;
  Rule rule_;
  FleetShape shape_;
  std::int64_t wanted_;
  serving::ScaleLaw law_;
  std::vector<std::unique_ptr<Member>> fleet_;
  std::deque<Sight> sights_;
  std::vector<Outcome> done_;
  double pod_seconds_ = 0;
  std::int64_t most_ = 0;
  std::int64_t changes_ = 0;
};

}  // namespace

std::string signal_name(Signal signal) {
  switch (signal) {
    case Signal::kPressure: return "kv_pressure";
    case Signal::kGauge: return "KV gauge";
    case Signal::kCpu: return "busy time (CPU)";
    case Signal::kQueueDepth: return "waiting requests";
  }
  return "";
}

FleetReport run_day(const std::vector<Arrival>& day, const Rule& rule, const FleetShape& shape) {
  return FleetRun(day, rule, shape).take();
}

}  // namespace kantha::autoscale
