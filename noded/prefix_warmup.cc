#include "noded/prefix_warmup.h"

#include <utility>

#include "base/log.h"

namespace kantha::noded {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(100);
constexpr std::size_t kAnswerBytesMax = 1u << 20;

}  // namespace

PrefixWarmup::PrefixWarmup(boost::asio::any_io_executor executor, EngineGate& engine,
                           const EngineKeeper& keeper, net::HttpClient& client, const Clock& clock,
                           WarmupPolicy policy)
    : GateInFront(engine),
      keeper_(keeper),
      client_(client),
      clock_(clock),
      policy_(policy),
      changed_(executor) {}

bool PrefixWarmup::is_warming() const {
  if (engine_.phase() != EnginePhase::kReady) return false;
  const EngineProcess now = keeper_.process();
  if (now == warmed_ || now.pid == 0) return false;
  // The first engine of a pod, and one that nobody asked for anything, has nothing to compute.
  if (!prompts_.empty()) return true;
  warmed_ = now;
  return false;
}

EnginePhase PrefixWarmup::phase() const {
  return is_warming() ? EnginePhase::kStarting : engine_.phase();
}

std::string PrefixWarmup::message() const {
  return is_warming() ? "engine computes the prompts that are asked for most" : engine_.message();
}

net::Task<bool> PrefixWarmup::wait_ready(Duration timeout) {
  const TimePoint until = clock_.now() + timeout;
  while (phase() != EnginePhase::kReady) {
    const Duration left = until - clock_.now();
    if (left <= Duration::zero()) co_return false;
    if (is_warming()) {
      co_await changed_.wait(left);
      continue;
    }
    const bool is_there = co_await engine_.wait_ready(left);
    if (!is_there) co_return false;
  }
  co_return true;
}

net::Task<void> PrefixWarmup::warm() {
  const EngineProcess begun = keeper_.process();
  const TimePoint start = clock_.now();
  const TimePoint until = start + policy_.time_max;
  std::int64_t count = 0;
  for (net::HttpRequest& request : prompts_.hottest(policy_.prompts_max, start)) {
    const Duration left = until - clock_.now();
    if (left <= Duration::zero() || hurry_()) break;
    const Result<net::HttpResponse> answer =
        co_await client_.call(engine_.endpoint(), std::move(request), left, kAnswerBytesMax);
    // It ended meanwhile: the next one is another matter.
    if (keeper_.process() != begun) co_return;
    if (answer.ok() && answer->status == 200) ++count;
  }
  computed_ += count;
  warmed_ = begun;
  if (count > 0) log_info("hottest prompts computed ahead", {{"prompts", count}});
  changed_.notify();
}

net::Task<void> PrefixWarmup::run(std::function<bool()> ended) {
  while (!ended()) {
    if (is_warming()) {
      co_await warm();
    } else if (engine_.phase() == EnginePhase::kReady) {
      co_await net::sleep_for(kLookEvery);
    } else {
      // Gives up at once in a crash loop.
      const bool is_ready = co_await engine_.wait_ready(kLookEvery);
      if (!is_ready) co_await net::sleep_for(kLookEvery);
    }
  }
}

void PrefixWarmup::open_metrics(MetricRegistry& metrics, const std::string& pod) const {
  metrics.counter("kantha_noded_prompts_warmed_total",
                  "Prompts that a new engine computed before it was used", {{"pod", pod}},
                  [this] { return static_cast<double>(computed_); });
}

}  // namespace kantha::noded
