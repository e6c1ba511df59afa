#include "noded/pod_devices.h"

#include <utility>

#include <boost/asio/post.hpp>

#include "base/log.h"
#include "noded/node/cpu_map.h"

namespace kantha::noded {

PodDevices::PodDevices(boost::asio::any_io_executor executor, const Clock& clock,
                       const std::string& library, const std::string& root)
    : executor_(std::move(executor)),
      clock_(clock),
      driver_(GpuDriver::open(library)),
      facts_(read_node_facts(root, driver_, allowed_cpus())) {}

PodDevices::~PodDevices() {
  watch_.reset();
  *alive_ = false;
}

void PodDevices::watch(std::function<void()> restart_engine,
                       std::function<void(std::string)> leave_gpu) {
  if (!driver_.ok() || watch_) return;
  restart_engine_ = std::move(restart_engine);
  leave_gpu_ = std::move(leave_gpu);
  watch_ = std::make_unique<GpuWatch>(std::move(driver_).value(), [this](GpuEvent event) {
    boost::asio::post(executor_, [this, alive = alive_, event = std::move(event)] {
      if (*alive) on_event(event);
    });
  });
}

void PodDevices::on_event(const GpuEvent& event) {
  GpuRecord& record = records_[event.uuid];
  XidStep step = xid_step(std::move(record.history), event.xid, clock_.now());
  record.history = std::move(step.history);
  record.last = event.xid;
  ++record.count;
  log_error("GPU error", {{"gpu", event.uuid},
                          {"xid", event.xid},
                          {"meaning", xid_rule(event.xid).meaning},
                          {"action", xid_action_name(step.action)}});
  if (step.action == XidAction::kRestartEngine) restart_engine_();
  if (step.action == XidAction::kDrainGpu || step.action == XidAction::kFenceNode) {
    leave_gpu_(
        event.uuid + " " +
        (step.action == XidAction::kDrainGpu ? "needs a reset" : "needs its node restarted") +
        " (Xid " + std::to_string(event.xid) + ": " + std::string(xid_rule(event.xid).meaning) +
        ")");
  }
}

Json PodDevices::state() const {
  Json out = to_json(facts_);
  Json& xids = out["xids"] = Json::object();
  for (const auto& [uuid, record] : records_) {
    xids[uuid] = {{"last", record.last},
                  {"meaning", xid_rule(record.last).meaning},
                  {"worst", xid_action_name(record.history.worst)},
                  {"count", record.count}};
  }
  return out;
}

}  // namespace kantha::noded
