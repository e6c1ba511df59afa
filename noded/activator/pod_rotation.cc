#include "noded/activator/pod_rotation.h"

#include <utility>

#include "base/log.h"

namespace kantha::noded {
namespace {

constexpr Duration kLeftAloneFor = std::chrono::seconds(1);

}  // namespace

void PodRotation::set_pods(const std::vector<std::string>& pods) {
  std::vector<ForwardTarget> now;
  std::map<std::string, TimePoint> failed;
  for (const std::string& pod : pods) {
    const Result<net::Endpoint> endpoint = net::parse_endpoint(pod);
    if (!endpoint.ok()) {
      log_warn("no address of a pod", {{"object", name_}, {"error", endpoint.error().message}});
      continue;
    }
    now.push_back({.name = pod, .endpoint = *endpoint, .is_local = false});
    const auto known = failed_at_.find(pod);
    if (known != failed_at_.end()) failed.insert(*known);
  }
  pods_ = std::move(now);
  failed_at_ = std::move(failed);
  changed_.notify();
}

TargetChoice PodRotation::choose(const TargetAsk&) {
  const TimePoint now = clock_.now();
  for (std::size_t i = 0; i < pods_.size(); ++i) {
    const ForwardTarget& pod = pods_[next_++ % pods_.size()];
    const auto failed = failed_at_.find(pod.name);
    if (failed == failed_at_.end() || now - failed->second >= kLeftAloneFor) {
      return {.target = pod, .hopeless = false, .why = {}};
    }
  }
  return {.target = std::nullopt,
          .hopeless = false,
          .why = pods_.empty() ? "no pod of " + name_ + " is ready yet"
                               : "no pod of " + name_ + " takes requests now"};
}

net::Task<void> PodRotation::wait_for_change(Duration timeout) { co_await changed_.wait(timeout); }

void PodRotation::ended(const ForwardTarget& target, TargetEnd end) {
  if (end == TargetEnd::kAnswered || end == TargetEnd::kRecalled) {
    failed_at_.erase(target.name);
  } else {
    failed_at_[target.name] = clock_.now();
  }
}

}  // namespace kantha::noded
