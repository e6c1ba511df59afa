#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/net/http_client.h"
#include "noded/engine/supervise_step.h"

/// Asks a running engine how it is. One executor.
namespace kantha::noded {

/// The engine's own numbers, as GET /admin/v1/state gives them.
struct EngineReport {
  std::string version;
  std::int64_t blocks_total = 0;
  std::int64_t blocks_active = 0;
  std::int64_t blocks_cached = 0;
  std::int64_t blocks_free = 0;
  std::int64_t waiting_tokens = 0;
  std::int64_t generation_tokens_total = 0;
  double kv_pressure = 0;
};

/// Reads the fields that we know; kInvalidArgument on wrong types, so that a lying engine is
/// noticed.
Result<EngineReport> engine_report_from_json(const Json& json);

class EngineProbe {
 public:
  EngineProbe(net::HttpClient& client, net::Endpoint engine) : client_(client), engine_(engine) {}

  /// GET /ready: 200 is ready, any other answer is loading, no answer within 2 s is none.
  net::Task<ProbeAnswer> ready();
  /// GET /admin/v1/state within 2 s.
  net::Task<Result<EngineReport>> report();

 private:
  net::HttpClient& client_;
  net::Endpoint engine_;
};

}  // namespace kantha::noded
