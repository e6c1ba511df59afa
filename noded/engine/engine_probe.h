#pragma once

#include "base/net/http_client.h"
#include "noded/engine/engine_report.h"

/// Asks a running engine how it is. One executor.
namespace kantha::noded {

class EngineProbe {
  static constexpr Duration kTimeout = std::chrono::seconds(2);

 public:
  EngineProbe(net::HttpClient& client, net::Endpoint engine) : client_(client), engine_(engine) {}

  /// GET /ready: 200 is ready, any other answer is loading, no answer within 2 s is none.
  net::Task<ProbeAnswer> ready();
  /// GET /admin/v1/state within that time.
  net::Task<Result<EngineReport>> report(Duration timeout = kTimeout);
  /// POST /admin/v1/shutdown: the engine drains and ends; whoever keeps it starts another one.
  net::Task<Status> ask_to_end();

  const net::Endpoint& endpoint() const { return engine_; }

 private:
  net::HttpClient& client_;
  net::Endpoint engine_;
};

}  // namespace kantha::noded
