#include "noded/node/gpu_watch.h"

#include <atomic>
#include <thread>
#include <utility>

#include "base/log.h"

namespace kantha::noded {
namespace {

constexpr int kTurnMs = 500;

}  // namespace

struct GpuWatch::Body {
  Body(GpuDriver opened, std::function<void(GpuEvent)> callback)
      : driver(std::move(opened)), on_event(std::move(callback)) {}

  void run() {
    while (!stopping) {
      Result<std::optional<GpuEvent>> event = driver.wait_event(kTurnMs);
      if (!event.ok()) {
        log_warn("GPU errors are not watched", {{"error", event.error().message}});
        return;
      }
      if (event->has_value()) on_event(*std::move(*event));
    }
  }

  GpuDriver driver;
  std::function<void(GpuEvent)> on_event;
  std::atomic<bool> stopping = false;
  std::thread thread;
};

GpuWatch::GpuWatch(GpuDriver driver, std::function<void(GpuEvent)> on_event)
    : body_(std::make_unique<Body>(std::move(driver), std::move(on_event))) {
  body_->thread = std::thread([body = body_.get()] { body->run(); });
}

GpuWatch::~GpuWatch() {
  body_->stopping = true;
  body_->thread.join();
}

}  // namespace kantha::noded
