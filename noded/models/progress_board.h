#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "noded/api/weights_state.h"

namespace kantha::noded {

/// Where the thread that fetches says how far it is, and others read it. Thread-safe.
class ProgressBoard {
 public:
  WeightsState state() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return state_;
  }
  void set(WeightsPhase phase, std::string message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.phase = phase;
    state_.message = std::move(message);
  }
  void set_source(std::string source) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.source = std::move(source);
  }
  void set_total(std::int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.bytes_total = bytes;
  }
  void set_done(std::int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.bytes_done = bytes;
  }

 private:
  mutable std::mutex mutex_;
  WeightsState state_;
};

}  // namespace kantha::noded
