#include "operator/cluster/fleet_feed.h"

#include <utility>

#include "base/log.h"
#include "operator/cluster/gather.h"

namespace kantha::cluster {
namespace {

constexpr std::size_t kToldAtOnce = 16;
constexpr std::uint16_t kApiPort = 8000;
constexpr Duration kForEver = std::chrono::hours(24);

/// One that is not ready, or leaves, is told who is: what it holds may have to go on there.
bool may_be_told(const serving::PodObject& pod) {
  return pod.noded.running && !pod.has_ended() && !pod.ip.empty();
}

serving::FleetMember member_of(const serving::ClusterServing& object,
                               const serving::PodObject& pod) {
  serving::FleetMember out;
  out.id = pod.uid;
  out.peer = {pod.name, net::Endpoint{pod.ip, kApiPort, {}}.to_string(),
              object.serving.served_name(), pod.told_revision.substr(0, 12)};
  out.made_as = pod.pod_revision;
  out.incarnation = pod.ip + "/" + std::to_string(pod.noded.restarts);
  out.ready = pod.takes_requests();
  return out;
}

}  // namespace

FleetFeed::FleetFeed(boost::asio::any_io_executor executor, const Clock& clock, PodDoor& door,
                     std::function<bool()> may_tell)
    : clock_(clock),
      door_(door),
      may_tell_(std::move(may_tell)),
      tells_(executor, "fleet"),
      wake_(executor) {}

void FleetFeed::observe(const serving::ClusterServing& object,
                        const std::vector<std::shared_ptr<const StoredPod>>& pods) {
  const std::string name = object.meta.key.to_string();
  std::vector<serving::FleetMember> members;
  std::map<std::string, PodAddress> addresses;
  for (const auto& stored : pods) {
    const serving::PodObject& pod = stored->pod;
    const bool is_member = pod.takes_requests() || may_be_told(pod);
    if (object.is_deleting() || pod.owner_uid != object.meta.uid || !is_member) continue;
    members.push_back(member_of(object, pod));
    addresses.emplace(pod.uid, address_of(object, pod));
  }
  const bool changed = plan_.observe(name, members);
  if (members.size() < 2 && !changed) {
    addresses_.erase(name);
  } else {
    addresses_[name] = std::move(addresses);
  }
  if (changed) wake_.notify();
}

void FleetFeed::forget(const kube::ObjectKey& key) {
  plan_.observe(key.to_string(), {});
  addresses_.erase(key.to_string());
}

net::Task<void> FleetFeed::tell(serving::FleetPlan::Message message, PodAddress to) {
  std::string body = dump_json(noded::to_json(message.view));
  const std::string pod = to.pod.to_string();
  const Status told = co_await door_.push_fleet(std::move(to), std::move(body));
  if (!told.ok()) {
    log_debug("noded took no fleet view", {{"pod", pod}, {"error", told.error().to_string()}});
  }
  (told.ok() ? told_ : failed_) += 1;
  plan_.answered(message, told.ok(), clock_.now());
  wake_.notify();
}

net::Task<void> FleetFeed::run() {
  while (!stopping_) {
    const std::size_t room = kToldAtOnce - std::min(kToldAtOnce, tells_.running());
    if (room > 0 && may_tell_()) {
      for (auto& message : plan_.take_due(clock_.now(), clock_.wall_now(), room)) {
        PodAddress to = addresses_[message.serving][message.id];
        tells_.spawn(tell(std::move(message), std::move(to)));
      }
    }
    co_await wake_.wait(plan_.look_after().value_or(kForEver));
  }
  co_await tells_.join();
}

void FleetFeed::stop() {
  stopping_ = true;
  wake_.notify();
}

}  // namespace kantha::cluster
