#pragma once

#include <string>

#include "base/clock.h"
#include "base/metrics.h"

/// The series of one controller. One executor; the registry must outlive it.
namespace kantha::runtime {

enum class ReconcileResult : unsigned char { kDone, kRequeued, kFailed, kTerminal };

class ControllerProbe {
 public:
  ControllerProbe(MetricRegistry& metrics, const std::string& name);

  void waited(Duration in_queue);
  void reconciled(ReconcileResult result, Duration took);
  void overdue() { overdue_.add(); }

 private:
  Histogram& wait_seconds_;
  Histogram& seconds_;
  Counter& done_;
  Counter& requeued_;
  Counter& failed_;
  Counter& terminal_;
  Counter& overdue_;
};

}  // namespace kantha::runtime
