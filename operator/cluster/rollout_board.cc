#include "operator/cluster/rollout_board.h"

#include <array>
#include <functional>
#include <string_view>
#include <utility>

namespace kantha::cluster {
namespace {

constexpr std::array kReasons = {
    "RolloutStarted", "RingSwapped",    "RingPassed",    "BakeProlonged",    "RolloutPaused",
    "RolloutFailed",  "RolloutAborted", "RolledBack",    "RolloutCancelled", "RolloutDone",
    "RolloutWaits",   "GoldenSetUnfit", "RingPreparing", "ImageNotPulled"};

/// Reasons that are verdicts of the judge or of what fails without one.
constexpr std::array kVerdicts = {
    std::pair{"RingPassed", "Pass"}, std::pair{"RolloutFailed", "Fail"},
    std::pair{"BakeProlonged", "Inconclusive"}, std::pair{"RolloutPaused", "Inconclusive"}};

Counter& events_of(MetricRegistry& metrics, const std::string& reason) {
  return metrics.counter("kantha_operator_rollout_events_total",
                         "Transitions of rollouts, by the reason of their Event",
                         {{"reason", reason}});
}

Counter& verdicts_of(MetricRegistry& metrics, const std::string& verdict) {
  return metrics.counter("kantha_operator_rollout_verdicts_total",
                         "Verdicts on rings that led to a transition", {{"verdict", verdict}});
}

std::string label_text(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace

RolloutBoard::RolloutBoard(MetricRegistry& metrics)
    : metrics_(metrics),
      rollback_seconds_(
          metrics.histogram("kantha_operator_rollback_seconds",
                            "From a breach that was seen to the first pod that was told to go back",
                            {}, {0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300})) {
  for (const char* reason : kReasons) events_of(metrics_, reason);
  for (const auto& [reason, verdict] : kVerdicts) verdicts_of(metrics_, verdict);
}

void RolloutBoard::see(const kube::ObjectKey& key, const serving::RolloutState& state) {
  Entry& entry = entries_[key];
  entry.phase = serving::rollout_phase_name(state.phase);
  entry.ring = state.ring_name;
  entry.target = state.target.substr(0, state.target.find('.'));
  entry.ring_pods = state.ring_size;
  entry.since =
      std::chrono::duration_cast<std::chrono::seconds>(state.since.time_since_epoch()).count();
  using enum serving::RolloutPhase;
  const bool goes_back = state.phase == kRollingBack || serving::is_under_way(state);
  if (!goes_back) entry.breach.reset();
}

void RolloutBoard::forget(const kube::ObjectKey& key) { entries_.erase(key); }

void RolloutBoard::count(const std::vector<serving::RolloutEvent>& events) {
  for (const serving::RolloutEvent& event : events) {
    events_of(metrics_, event.reason).add();
    for (const auto& [reason, verdict] : kVerdicts) {
      if (event.reason == reason) verdicts_of(metrics_, verdict).add();
    }
  }
}

void RolloutBoard::breach(const kube::ObjectKey& key, TimePoint now) {
  Entry& entry = entries_[key];
  if (!entry.breach) entry.breach = now;
}

void RolloutBoard::told_back(const kube::ObjectKey& key, TimePoint now) {
  const auto found = entries_.find(key);
  if (found == entries_.end() || !found->second.breach) return;
  rollback_seconds_.observe(
      std::chrono::duration<double>(now - *std::exchange(found->second.breach, {})).count());
}

std::string RolloutBoard::scrape() const {
  std::string out;
  const auto family = [&](const char* name, const char* help,
                          const std::function<std::string(const Entry&)>& more_labels,
                          const std::function<std::int64_t(const Entry&)>& value) {
    out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " gauge\n";
    for (const auto& [key, entry] : entries_) {
      if (entry.phase.empty()) continue;
      out += std::string(name) + "{serving_namespace=" + label_text(key.name_space) +
             ",serving=" + label_text(key.name) + more_labels(entry) + "} " +
             std::to_string(value(entry)) + "\n";
    }
  };
  const auto none = [](const Entry&) { return std::string(); };
  family(
      "kantha_operator_rollout_phase", "Where the rollout of each ModelServing stands",
      [](const Entry& entry) {
        return ",phase=" + label_text(entry.phase) + ",ring=" + label_text(entry.ring) +
               ",target=" + label_text(entry.target);
      },
      [](const Entry&) { return 1; });
  family("kantha_operator_rollout_phase_started_seconds", "When it came there, Unix time", none,
         [](const Entry& entry) { return entry.since; });
  family("kantha_operator_rollout_ring_pods", "Pods of the ring at work; 0: all of them", none,
         [](const Entry& entry) { return entry.ring_pods; });
  return out;
}

}  // namespace kantha::cluster
