#include "bench/load/report_json.h"

namespace kantha::bench {
namespace {

double to_s(Duration duration) { return std::chrono::duration<double>(duration).count(); }

OrderedJson of(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson of(const std::optional<Distribution>& d) {
  if (!d) return nullptr;
  return {{"count", d->count}, {"mean", d->mean}, {"min", d->min}, {"p50", d->p50},
          {"p90", d->p90},     {"p95", d->p95},   {"p99", d->p99}, {"max", d->max}};
}

OrderedJson of(const std::optional<LengthRange>& range) {
  if (!range) return nullptr;
  return {{"min", range->min}, {"max", range->max}};
}

OrderedJson options_json(const BenchOptions& o) {
  OrderedJson json = {{"workload", o.trace.empty() ? o.workload.name : "trace"}};
  json["concurrency"] = o.concurrency > 0 ? OrderedJson(o.concurrency) : OrderedJson(nullptr);
  json["rate_per_s"] = o.rate_per_s > 0 ? OrderedJson(o.rate_per_s) : OrderedJson(nullptr);
  json["requests"] = o.requests > 0 ? OrderedJson(o.requests) : OrderedJson(nullptr);
  json["duration_s"] = o.duration_s > 0 ? OrderedJson(o.duration_s) : OrderedJson(nullptr);
  json["rounds"] = o.round_count();
  json["warmup"] = o.warmup;
  json["in_flight_max"] = o.in_flight_max;
  json["timeout_s"] = o.timeout_s;
  json["seed"] = o.workload.seed;
  json["input_tokens"] = of(o.workload.input);
  json["output_tokens"] = of(o.workload.output);
  json["prefix_tokens"] = o.workload.prefix_tokens;
  json["prefixes"] = o.workload.prefix_count;
  json["api"] = o.api == Api::kChat ? "chat" : "completions";
  json["stream"] = o.is_stream;
  json["ignore_eos"] = o.ignore_eos;
  json["slo"] = nullptr;
  if (o.slo) {
    json["slo"] = {{"ttft_ms", of(o.slo->ttft_ms)},
                   {"itl_ms", of(o.slo->itl_ms)},
                   {"tpot_ms", of(o.slo->tpot_ms)},
                   {"e2e_ms", of(o.slo->e2e_ms)}};
  }
  return json;
}

OrderedJson little_json(const LittleCheck& check) {
  return {{"in_flight_mean", check.in_flight_mean},
          {"arrivals_per_s", check.arrivals_per_s},
          {"latency_mean_s", check.latency_mean_s},
          {"deviation", check.deviation},
          {"holds", check.holds}};
}

OrderedJson measures_json(const Measures& m) {
  OrderedJson json = {{"valid", m.invalid.empty()}};
  json["invalid"] = m.invalid;
  json["warnings"] = m.warnings;
  json["sent"] = m.sent;
  json["ok"] = m.ok;
  json["failed"] = m.failed;
  json["cancelled"] = m.cancelled;
  json["resent"] = m.resent;
  json["dropped"] = m.dropped;
  json["failures"] = m.failures;
  json["first_errors"] = m.first_errors;
  json["window_s"] = m.window_s;
  json["requests_per_s"] = of(m.requests_per_s);
  json["output_tokens_per_s"] = of(m.output_tokens_per_s);
  json["total_tokens_per_s"] = of(m.total_tokens_per_s);
  json["goodput_per_s"] = of(m.goodput_per_s);
  json["goodput_share"] = of(m.goodput_share);
  json["ttft_ms"] = of(m.ttft_ms);
  json["itl_ms"] = of(m.itl_ms);
  json["tpot_ms"] = of(m.tpot_ms);
  json["e2e_ms"] = of(m.e2e_ms);
  json["late_ms"] = of(m.late_ms);
  json["input_tokens"] = of(m.input_tokens);
  json["output_tokens"] = of(m.output_tokens);
  json["tokens_per_chunk"] = of(m.tokens_per_chunk);
  json["coalesced_share"] = m.coalesced_share;
  json["cached_share"] = of(m.cached_share);
  json["without_usage"] = m.without_usage;
  json["without_end_mark"] = m.without_end_mark;
  json["little"] = little_json(m.little);
  json["in_flight_peak"] = m.in_flight_peak;
  json["backlog_growth"] = of(m.backlog_growth);
  json["client_cpu_share"] = m.client_cpu_share;
  json["client_lag_p99_ms"] = of(m.lag_p99_ms);
  return json;
}

OrderedJson server_json(const ServerFigures& server) {
  if (!server.any()) return nullptr;
  return {{"preemptions", of(server.preemptions)},
          {"prompt_tokens", of(server.prompt_tokens)},
          {"output_tokens", of(server.output_tokens)},
          {"prefix_hit_ratio", of(server.prefix_hit_ratio)},
          {"queue_mean_s", of(server.queue_mean_s)},
          {"waiting_peak", of(server.waiting_peak)},
          {"running_peak", of(server.running_peak)},
          {"kv_usage_peak", of(server.kv_usage_peak)}};
}

OrderedJson request_json(const RequestLog& r, std::size_t round) {
  OrderedJson json = {{"round", round}, {"index", r.index}, {"outcome", r.kind()}};
  json["due_s"] = to_s(r.due);
  json["sent_s"] = to_s(r.sent);
  json["ttft_ms"] = of(ttft_ms(r));
  json["tpot_ms"] = of(tpot_ms(r));
  json["e2e_ms"] = e2e_ms(r);
  json["chunks"] = r.content_at.size();
  json["input_tokens_wanted"] = r.input_tokens_wanted;
  json["output_tokens_wanted"] = r.output_tokens_wanted;
  json["input_tokens"] = r.usage ? OrderedJson(r.usage->prompt_tokens) : OrderedJson(nullptr);
  json["output_tokens"] = r.usage ? OrderedJson(r.usage->output_tokens) : OrderedJson(nullptr);
  if (r.was_resent) json["resent"] = true;
  if (!r.error.empty()) json["error"] = r.error;
  return json;
}

OrderedJson target_json(const TargetReport& target) {
  OrderedJson json = {{"name", target.target.name}, {"url", target.target.url}};
  json["model"] = target.facts.model;
  json["window"] =
      target.facts.window > 0 ? OrderedJson(target.facts.window) : OrderedJson(nullptr);
  json["tokens_per_word"] = target.facts.ratio.tokens_per_word;
  json["tokens_beside"] = target.facts.ratio.tokens_beside;
  json["tokens_per_word_from"] = target.facts.ratio.source;
  json["not_measured"] = target.dead.empty() ? OrderedJson(nullptr) : OrderedJson(target.dead);
  json["warnings"] = target.warnings;
  json["measures"] = target.dead.empty() ? measures_json(target.all) : OrderedJson(nullptr);
  json["server"] = server_json(target.server);
  json["rounds"] = OrderedJson::array();
  for (const Measures& round : target.rounds) json["rounds"].push_back(measures_json(round));
  json["requests"] = OrderedJson::array();
  for (std::size_t round = 0; round < target.phases.size(); ++round) {
    for (const RequestLog& request : target.phases[round].requests) {
      json["requests"].push_back(request_json(request, round));
    }
  }
  return json;
}

OrderedJson comparison_json(const Comparison& comparison, const std::string& against) {
  OrderedJson json = {{"name", comparison.name}, {"against", against}};
  json["ratios"] = OrderedJson::object();
  for (const Ratio& r : comparison.ratios) {
    json["ratios"][r.figure] = {{"first", r.first},   {"other", r.other},     {"ratio", r.ratio},
                                {"lowest", r.lowest}, {"highest", r.highest}, {"rounds", r.rounds}};
  }
  return json;
}

}  // namespace

OrderedJson json_of(const BenchReport& report) {
  OrderedJson json = {{"schema", kReportSchema}};
  json["kantha_version"] = report.version;
  json["started_at"] = report.started_at;
  json["interrupted"] = report.was_interrupted;
  json["valid"] = report.is_valid();
  json["options"] = options_json(report.options);
  json["targets"] = OrderedJson::array();
  for (const TargetReport& target : report.targets) json["targets"].push_back(target_json(target));
  json["comparisons"] = OrderedJson::array();
  for (const Comparison& comparison : report.comparisons) {
    json["comparisons"].push_back(comparison_json(comparison, report.targets.front().target.name));
  }
  return json;
}

}  // namespace kantha::bench
