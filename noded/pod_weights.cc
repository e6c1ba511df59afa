#include "noded/pod_weights.h"

#include "base/net/task_group.h"

namespace kantha::noded {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(50);

}  // namespace

PodWeights::PodWeights(const std::optional<WeightOptions>& options, EngineGate& engine,
                       const Clock& clock)
    : GateInFront(engine), clock_(clock) {
  if (options) store_ = std::make_unique<WeightStore>(options->spec, options->settings, clock);
}

void PodWeights::start() {
  if (store_) store_->start();
}

bool PodWeights::ready() const {
  if (!ready_) ready_ = !store_ || store_->is_ready();
  return ready_;
}

std::optional<WeightsState> PodWeights::state() const {
  return store_ ? std::optional(store_->state()) : std::nullopt;
}

EnginePhase PodWeights::phase() const {
  if (ready()) return engine_.phase();
  const bool failed = store_->state().phase == WeightsPhase::kFailed;
  return failed ? EnginePhase::kCrashLoop : EnginePhase::kFetching;
}

std::string PodWeights::message() const {
  return ready() ? engine_.message() : "weights: " + store_->state().message;
}

net::Task<bool> PodWeights::wait_ready(Duration timeout) {
  const TimePoint until = clock_.now() + timeout;
  while (!ready()) {
    if (clock_.now() >= until || phase() == EnginePhase::kCrashLoop) co_return false;
    co_await net::sleep_for(kLookEvery);
  }
  const Duration left = until - clock_.now();
  co_return co_await engine_.wait_ready(left);
}

void PodWeights::open_metrics(MetricRegistry& metrics, const std::string& pod) const {
  const auto gauge = [&](const char* name, const char* help, std::function<double()> read) {
    metrics.gauge(name, help, {{"pod", pod}}, std::move(read));
  };
  const auto now = [this] { return state().value_or(WeightsState()); };
  gauge("kantha_noded_weights_bytes", "Bytes of fetched weights that are there",
        [now] { return static_cast<double>(now().bytes_done); });
  gauge("kantha_noded_weights_total_bytes", "Bytes of the weights to fetch; 0 when not known",
        [now] { return static_cast<double>(now().bytes_total); });
  gauge("kantha_noded_weights_ready", "1 unless weights are still to be fetched",
        [this] { return ready() ? 1.0 : 0.0; });
}

}  // namespace kantha::noded
