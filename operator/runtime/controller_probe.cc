#include "operator/runtime/controller_probe.h"

#include <chrono>
#include <vector>

namespace kantha::runtime {
namespace {

const std::vector<double>& bounds() {
  static const std::vector<double> bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                             0.5,   1,      2.5,   5,    10,    30,   60};
  return bounds;
}

Counter& results(MetricRegistry& metrics, const std::string& name, const char* result) {
  return metrics.counter("kantha_operator_reconcile_total", "Reconciles that ended, by result.",
                         {{"controller", name}, {"result", result}});
}

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

ControllerProbe::ControllerProbe(MetricRegistry& metrics, const std::string& name)
    : wait_seconds_(metrics.histogram("kantha_operator_queue_wait_seconds",
                                      "Time that keys were ready before a worker took them.",
                                      {{"controller", name}}, bounds())),
      seconds_(metrics.histogram("kantha_operator_reconcile_seconds", "Time of one reconcile.",
                                 {{"controller", name}}, bounds())),
      done_(results(metrics, name, "done")),
      requeued_(results(metrics, name, "requeued")),
      failed_(results(metrics, name, "failed")),
      terminal_(results(metrics, name, "terminal")),
      overdue_(metrics.counter("kantha_operator_reconcile_overdue_total",
                               "Reconciles that took longer than their timeout.",
                               {{"controller", name}})) {}

void ControllerProbe::waited(Duration in_queue) { wait_seconds_.observe(seconds_of(in_queue)); }

void ControllerProbe::reconciled(ReconcileResult result, Duration took) {
  seconds_.observe(seconds_of(took));
  switch (result) {
    case ReconcileResult::kDone: return done_.add();
    case ReconcileResult::kRequeued: return requeued_.add();
    case ReconcileResult::kFailed: return failed_.add();
    case ReconcileResult::kTerminal: return terminal_.add();
  }
}

}  // namespace kantha::runtime
