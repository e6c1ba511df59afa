#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "engine/gateway/engine_port.h"
#include "engine/sched/token_event.h"

/// The server's series under vLLM's names (prefix "vllm:", labels model_name and engine="0"), so
/// that existing dashboards work, and ours under "kantha_".
namespace kantha::serve {

/// What `vllm:cache_config_info` says.
struct CacheFacts {
  std::int64_t block_size = 0;
  std::int64_t blocks = 0;
  bool prefix_caching = true;
};

/// I/O thread only. HTTP counts work from the start; the engine's series appear, all with 0, when
/// the model is known.
class EngineMetrics {
 public:
  /// Makes every series of the engine. Called once.
  void open(const std::string& model_name, const CacheFacts& facts);

  void count_http(std::string_view route, int status);
  void observe_first_token(double seconds);
  void observe_inter_token(double seconds);
  /// One choice ended, for whatever reason.
  void observe_end(sched::FinishReason reason, double seconds, std::int64_t prompt_tokens,
                   std::int64_t output_tokens);

  /// Everything as text. `stats` are the engine's numbers now; nullptr while there is no engine.
  std::string scrape(const gateway::EngineStats* stats);

 private:
  void open_gauges(const MetricLabels& labels);
  void open_histograms(const MetricLabels& labels);
  void open_counters(const MetricLabels& labels);

  /// A total that the engine keeps, shown as a counter.
  struct Mirror {
    Counter* counter;
    std::int64_t gateway::EngineStats::* total;
    std::int64_t shown = 0;
  };

  MetricRegistry registry_;
  gateway::EngineStats stats_;  // what the gauges show, taken at each scrape
  std::vector<Mirror> mirrors_;
  std::array<Counter*, sched::kFinishReasonCount> finished_{};  // by FinishReason
  Histogram* first_token_ = nullptr;
  Histogram* inter_token_ = nullptr;
  Histogram* latency_ = nullptr;
  Histogram* prompt_tokens_ = nullptr;
  Histogram* output_tokens_ = nullptr;
  std::map<std::pair<std::string, int>, Counter*> http_;
};

}  // namespace kantha::serve
