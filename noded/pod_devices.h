#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "noded/node/gpu_watch.h"
#include "noded/node/node_facts.h"
#include "noded/node/xid_policy.h"

namespace kantha::noded {

/// The devices of a pod whose engine is noded's child: what they are, and what to do when the
/// driver reports an error of one. One executor.
///
/// An application's error restarts the engine. An error of a device, or of its bus, stays in the
/// state as the GPU's worst, and the pod is told to work there no more.
class PodDevices {
 public:
  /// Opens the driver and reads the facts; `library` is NVIDIA's, `root` "/" in programs.
  PodDevices(boost::asio::any_io_executor executor, const Clock& clock,
             const std::string& library = "libnvidia-ml.so.1", const std::string& root = "/");
  ~PodDevices();

  /// Watches for errors until this object goes. Called on the executor: `restart_engine`, and
  /// `leave_gpu` with the reason, once for each error of a device.
  void watch(std::function<void()> restart_engine, std::function<void(std::string)> leave_gpu);
  const NodeFacts& facts() const { return facts_; }
  /// Object "node" of GET /admin/v1/state: the facts, and "xids" by GPU: last, worst, count.
  Json state() const;

 private:
  struct GpuRecord {
    XidHistory history;
    int last = 0;
    std::int64_t count = 0;
  };
  void on_event(const GpuEvent& event);

  boost::asio::any_io_executor executor_;
  const Clock& clock_;
  Result<GpuDriver> driver_;
  NodeFacts facts_;
  std::map<std::string, GpuRecord> records_;
  std::function<void()> restart_engine_;
  std::function<void(std::string)> leave_gpu_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<GpuWatch> watch_;
};

}  // namespace kantha::noded
