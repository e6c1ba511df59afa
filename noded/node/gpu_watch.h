#pragma once

#include <functional>
#include <memory>

#include "noded/node/gpu_driver.h"

namespace kantha::noded {

/// Waits for Xids on a thread of its own, since the driver's call blocks. Ends within a second.
class GpuWatch {
 public:
  /// `on_event` is called on that thread. When the driver stops reporting, it is called no more.
  GpuWatch(GpuDriver driver, std::function<void(GpuEvent)> on_event);
  ~GpuWatch();

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::noded
