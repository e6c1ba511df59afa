#include "noded/engine/engine_probe.h"

#include "base/json_fields.h"

namespace kantha::noded {
namespace {

constexpr Duration kProbeTimeout = std::chrono::seconds(2);

Status read_count(const JsonFields& fields, std::string_view name, std::int64_t& out) {
  TRY(const std::optional<std::int64_t> value, fields.integer(name, 0, INT64_MAX));
  out = value.value_or(0);
  return ok_status();
}

}  // namespace

Result<EngineReport> engine_report_from_json(const Json& json) {
  const JsonFields root(json, "");
  TRY_OK(root.check_object());
  EngineReport report;
  TRY(std::optional<std::string> version, root.string("version"));
  report.version = version.value_or("");
  TRY(const std::optional<JsonFields> kv, root.object("kv"));
  if (kv) {
    TRY_OK(read_count(*kv, "blocks_total", report.blocks_total));
    TRY_OK(read_count(*kv, "blocks_active", report.blocks_active));
    TRY_OK(read_count(*kv, "blocks_cached", report.blocks_cached));
    TRY_OK(read_count(*kv, "blocks_free", report.blocks_free));
    TRY_OK(read_count(*kv, "waiting_tokens", report.waiting_tokens));
    TRY(const std::optional<double> pressure, kv->number("pressure", 0, 1e9));
    report.kv_pressure = pressure.value_or(0);
  }
  TRY_OK(read_count(root, "generation_tokens_total", report.generation_tokens_total));
  return report;
}

net::Task<ProbeAnswer> EngineProbe::ready() {
  net::HttpRequest request;
  request.target = "/ready";
  const Result<net::HttpResponse> answer =
      co_await client_.call(engine_, std::move(request), kProbeTimeout);
  if (!answer.ok()) co_return ProbeAnswer::kNone;
  co_return answer->status == 200 ? ProbeAnswer::kReady : ProbeAnswer::kLoading;
}

net::Task<Result<EngineReport>> EngineProbe::report() {
  net::HttpRequest request;
  request.target = "/admin/v1/state";
  CO_TRY(const net::HttpResponse answer,
         co_await client_.call(engine_, std::move(request), kProbeTimeout));
  if (answer.status != 200) {
    co_return unavailable("engine state answered " + std::to_string(answer.status));
  }
  CO_TRY(const Json json, parse_json(answer.body));
  co_return engine_report_from_json(json);
}

}  // namespace kantha::noded
