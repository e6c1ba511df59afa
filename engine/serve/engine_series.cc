#include "engine/serve/engine_series.h"

namespace kantha::serve {
namespace {

using Stats = gateway::EngineStats;

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

/// A member as it is.
template <auto Member>
double show(const Stats& stats) {
  return static_cast<double>(stats.*Member);
}

double kv_usage(const Stats& s) { return share(s.blocks_active, s.blocks_total); }
double kv_pressure(const Stats& s) { return s.kv_pressure(); }
double kv_waste(const Stats& s) {
  return share(s.kv_tokens_reserved - s.kv_tokens_used, s.kv_tokens_reserved);
}
double unusable(const Stats& s) {
  return static_cast<double>(
      s.finished_total[static_cast<std::size_t>(sched::FinishReason::kError)]);
}
double overhead(const Stats& s) { return s.step_seconds_total - s.forward_seconds_total; }

constexpr EngineSeries kSeries[] = {
    {"vllm:num_requests_running", "Requests in the running batch", nullptr, nullptr,
     show<&Stats::requests_running>},
    {"vllm:num_requests_waiting", "Requests that wait to be admitted", nullptr, nullptr,
     show<&Stats::requests_waiting>},
    {"vllm:kv_cache_usage_perc", "Share of KV blocks in use by requests, 0 to 1", nullptr, nullptr,
     kv_usage},
    {"vllm:prompt_tokens_total", "Prompt tokens of started requests", nullptr, nullptr,
     show<&Stats::prompt_tokens_total>},
    {"vllm:generation_tokens_total", "Tokens generated", nullptr, nullptr,
     show<&Stats::generation_tokens_total>},
    {"vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache, once per request",
     nullptr, nullptr, show<&Stats::prefix_queries_total>},
    {"vllm:prefix_cache_hits_total", "Tokens found in the prefix cache", nullptr, nullptr,
     show<&Stats::prefix_hits_total>},
    {"vllm:num_preemptions_total", "Requests preempted for want of KV blocks", nullptr, nullptr,
     show<&Stats::preemptions_total>},
    {"vllm:prompt_tokens_recomputed_total", "Tokens computed again after a preemption", nullptr,
     nullptr, show<&Stats::recomputed_tokens_total>},
    {"vllm:corrupted_requests_total", "Requests ended because their logits were unusable", nullptr,
     nullptr, unusable},
    {"kantha_kv_pressure", "KV demanded over KV owned; above 1 requests wait", nullptr, nullptr,
     kv_pressure},
    {"kantha_kv_blocks", "KV blocks by state", "state", "active", show<&Stats::blocks_active>},
    {"kantha_kv_blocks", "KV blocks by state", "state", "cached", show<&Stats::blocks_cached>},
    {"kantha_kv_blocks", "KV blocks by state", "state", "free", show<&Stats::blocks_free>},
    {"kantha_kv_tokens", "KV storage of running requests, in tokens", "state", "reserved",
     show<&Stats::kv_tokens_reserved>},
    {"kantha_kv_tokens", "KV storage of running requests, in tokens", "state", "used",
     show<&Stats::kv_tokens_used>},
    {"kantha_kv_waste_ratio", "Share of reserved KV storage that holds nothing", nullptr, nullptr,
     kv_waste},
    {"kantha_kv_block_copies_total", "KV blocks copied: a write into a shared one, a part of a hit",
     nullptr, nullptr, show<&Stats::block_copies_total>},
    {"kantha_forks_total", "Samples that shared their sibling's prompt", nullptr, nullptr,
     show<&Stats::forks_total>},
    {"kantha_shared_prefix_waits_total", "Requests that waited for a prefix being computed",
     nullptr, nullptr, show<&Stats::shared_waits_total>},
    {"kantha_prefix_part_hit_tokens_total", "Tokens found in parts of cached blocks", nullptr,
     nullptr, show<&Stats::part_hit_tokens_total>},
    {"kantha_waiting_tokens", "Prompt tokens of requests that wait", nullptr, nullptr,
     show<&Stats::waiting_tokens>},
    {"kantha_queue_tokens_max", "Prompt tokens that may wait now", nullptr, nullptr,
     show<&Stats::prompt_tokens_queued_max>},
    {"kantha_step_tokens_budget", "Tokens that the next step may compute", nullptr, nullptr,
     show<&Stats::step_tokens_budget>},
    {"kantha_prefill_tokens_per_second", "Measured rate of prefill; 0 until measured", nullptr,
     nullptr, show<&Stats::prefill_tokens_per_second>},
    {"kantha_decode_step_seconds", "Estimated step with the decodes that run now", nullptr, nullptr,
     show<&Stats::decode_step_seconds>},
    {"kantha_engine_steps_total", "Steps of the engine", nullptr, nullptr,
     show<&Stats::steps_total>},
    {"kantha_engine_step_seconds_total", "Time in steps", nullptr, nullptr,
     show<&Stats::step_seconds_total>},
    {"kantha_engine_step_overhead_seconds_total", "Time in steps outside of the forward pass",
     nullptr, nullptr, overhead},
};

}  // namespace

std::span<const EngineSeries> engine_series() { return kSeries; }

}  // namespace kantha::serve
