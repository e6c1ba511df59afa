#include "engine/serve/engine_metrics.h"

#include <utility>
#include <vector>

namespace kantha::serve {
namespace {

using gateway::EngineStats;

// vLLM's buckets, with finer ones below: its lowest say nothing about small models.
const std::vector<double> kFirstTokenBuckets{.0005, .001, .0025, .005, .01, .02, .04, .06,
                                             .08,   .1,   .25,   .5,   .75, 1,   2.5, 5,
                                             7.5,   10,   20,    40,   80,  160, 640, 2560};
const std::vector<double> kInterTokenBuckets{.0005, .001, .0025, .005, .0075, .01, .025, .05,
                                             .075,  .1,   .15,   .2,   .3,    .4,  .5,   .75,
                                             1,     2.5,  5,     7.5,  10,    20,  40,   80};
const std::vector<double> kLatencyBuckets{.005, .01, .025, .05, .1,  .2,  .3,  .5,   .8,
                                          1,    1.5, 2,    2.5, 5,   10,  15,  20,   30,
                                          40,   50,  60,   120, 240, 480, 960, 1920, 7680};
const std::vector<double> kTokenBuckets{1,   2,    5,    10,   20,    50,    100,   200,
                                        500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

MetricLabels with(MetricLabels labels, const std::string& name, const std::string& value) {
  labels.emplace_back(name, value);
  return labels;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

void EngineMetrics::open(const std::string& model_name, const CacheFacts& facts) {
  const MetricLabels labels{{"model_name", model_name}, {"engine", "0"}};
  open_gauges(labels);
  open_histograms(labels);
  open_counters(labels);
  MetricLabels info = with(labels, "block_size", std::to_string(facts.block_size));
  info = with(info, "num_gpu_blocks", std::to_string(facts.blocks));
  info = with(info, "num_cpu_blocks", std::to_string(facts.blocks));
  info = with(info, "cache_dtype", "auto");
  info = with(info, "enable_prefix_caching", facts.prefix_caching ? "True" : "False");
  registry_.gauge("vllm:cache_config_info", "Shape of the KV cache, as labels", info,
                  [] { return 1.0; });
}

void EngineMetrics::open_gauges(const MetricLabels& labels) {
  const auto gauge = [&](const char* name, const char* help, const MetricLabels& own, auto read) {
    registry_.gauge(name, help, own, [this, read] { return static_cast<double>(read(stats_)); });
  };
  gauge("vllm:num_requests_running", "Requests in the running batch", labels,
        [](const EngineStats& s) { return s.requests_running; });
  gauge("vllm:num_requests_waiting", "Requests that wait to be admitted", labels,
        [](const EngineStats& s) { return s.requests_waiting; });
  gauge("vllm:kv_cache_usage_perc", "Share of KV blocks in use by requests, 0 to 1", labels,
        [](const EngineStats& s) { return share(s.blocks_active, s.blocks_total); });
  gauge("kantha_kv_pressure", "KV demanded over KV owned; above 1 requests wait", labels,
        [](const EngineStats& s) { return s.kv_pressure(); });
  gauge("kantha_waiting_tokens", "Prompt tokens of requests that wait", labels,
        [](const EngineStats& s) { return s.waiting_tokens; });
  const char* name = "kantha_kv_blocks";
  const char* help = "KV blocks by state";
  gauge(name, help, with(labels, "state", "active"),
        [](const EngineStats& s) { return s.blocks_active; });
  gauge(name, help, with(labels, "state", "cached"),
        [](const EngineStats& s) { return s.blocks_cached; });
  gauge(name, help, with(labels, "state", "free"),
        [](const EngineStats& s) { return s.blocks_free; });
}

void EngineMetrics::open_histograms(const MetricLabels& labels) {
  first_token_ = &registry_.histogram("vllm:time_to_first_token_seconds",
                                      "From the request's arrival to its first token", labels,
                                      kFirstTokenBuckets);
  inter_token_ =
      &registry_.histogram("vllm:inter_token_latency_seconds", "Between two tokens of one choice",
                           labels, kInterTokenBuckets);
  latency_ = &registry_.histogram("vllm:e2e_request_latency_seconds",
                                  "From the request's arrival to its end", labels, kLatencyBuckets);
  prompt_tokens_ = &registry_.histogram("vllm:request_prompt_tokens", "Prompt tokens per request",
                                        labels, kTokenBuckets);
  output_tokens_ = &registry_.histogram("vllm:request_generation_tokens",
                                        "Output tokens per request", labels, kTokenBuckets);
}

void EngineMetrics::open_counters(const MetricLabels& labels) {
  const auto mirror = [&](const char* name, const char* help, std::int64_t EngineStats::* total) {
    mirrors_.push_back({.counter = &registry_.counter(name, help, labels), .total = total});
  };
  mirror("vllm:prompt_tokens_total", "Prompt tokens processed", &EngineStats::prompt_tokens_total);
  mirror("vllm:generation_tokens_total", "Tokens generated", &EngineStats::generation_tokens_total);
  mirror("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache",
         &EngineStats::prefix_queries_total);
  mirror("vllm:prefix_cache_hits_total", "Prompt tokens found in the prefix cache",
         &EngineStats::prefix_hits_total);
  mirror("vllm:num_preemptions_total", "Requests preempted for want of KV blocks",
         &EngineStats::preemptions_total);
  mirror("vllm:prompt_tokens_recomputed_total", "Tokens computed again after a preemption",
         &EngineStats::recomputed_tokens_total);
  mirror("kantha_engine_steps_total", "Steps of the engine", &EngineStats::steps_total);
  const char* reasons[sched::kFinishReasonCount] = {"stop", "length", "abort", "error", "deadline"};
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    finished_[i] = &registry_.counter("vllm:request_success_total", "Requests ended, by reason",
                                      with(labels, "finished_reason", reasons[i]));
  }
}

void EngineMetrics::count_http(std::string_view route, int status) {
  Counter*& counter = http_[{std::string(route), status}];
  if (counter == nullptr) {
    counter = &registry_.counter("kantha_http_requests_total", "HTTP requests answered",
                                 {{"route", std::string(route)}, {"code", std::to_string(status)}});
  }
  counter->add();
}

void EngineMetrics::observe_first_token(double seconds) { first_token_->observe(seconds); }

void EngineMetrics::observe_inter_token(double seconds) { inter_token_->observe(seconds); }

void EngineMetrics::observe_end(sched::FinishReason reason, double seconds,
                                std::int64_t prompt_tokens, std::int64_t output_tokens) {
  finished_[static_cast<std::size_t>(reason)]->add();
  latency_->observe(seconds);
  prompt_tokens_->observe(static_cast<double>(prompt_tokens));
  output_tokens_->observe(static_cast<double>(output_tokens));
}

std::string EngineMetrics::scrape(const gateway::EngineStats* stats) {
  if (stats != nullptr) {
    stats_ = *stats;
    for (Mirror& mirror : mirrors_) {
      const std::int64_t total = stats_.*mirror.total;
      if (total <= mirror.shown) continue;
      mirror.counter->add(static_cast<double>(total - mirror.shown));
      mirror.shown = total;
    }
  }
  return registry_.scrape();
}

}  // namespace kantha::serve
