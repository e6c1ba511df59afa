#include "noded/engine/engine_probe.h"

namespace kantha::noded {
net::Task<ProbeAnswer> EngineProbe::ready() {
  net::HttpRequest request;
  request.target = "/ready";
  const Result<net::HttpResponse> answer =
      co_await client_.call(engine_, std::move(request), kTimeout);
  if (!answer.ok()) co_return ProbeAnswer::kNone;
  co_return answer->status == 200 ? ProbeAnswer::kReady : ProbeAnswer::kLoading;
}

net::Task<Result<EngineReport>> EngineProbe::report(Duration timeout) {
  net::HttpRequest request;
  request.target = "/admin/v1/state";
  CO_TRY(const net::HttpResponse answer,
         co_await client_.call(engine_, std::move(request), timeout));
  if (answer.status != 200) {
    co_return unavailable("engine state answered " + std::to_string(answer.status));
  }
  CO_TRY(const Json json, parse_json(answer.body));
  co_return engine_report_from_json(json);
}

net::Task<Status> EngineProbe::ask_to_end() {
  net::HttpRequest request;
  request.method = "POST";
  request.target = "/admin/v1/shutdown";
  const Result<net::HttpResponse> answer =
      co_await client_.call(engine_, std::move(request), kTimeout);
  if (!answer.ok()) co_return answer.error();
  if (answer->status == 200) co_return ok_status();
  co_return unavailable("engine shutdown answered " + std::to_string(answer->status));
}

}  // namespace kantha::noded
