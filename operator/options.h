#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/net/http.h"
#include "base/result.h"
#include "operator/cluster/activator_door.h"
#include "operator/cluster/operator_settings.h"
#include "operator/kube/transport_factory.h"
#include "operator/metricsapi/metrics_server.h"

namespace kantha {

enum class OperatorCommand : std::uint8_t { kServe, kReleaseFinalizers };

/// Command line of kantha-operator, checked.
struct OperatorOptions {
  OperatorCommand command = OperatorCommand::kServe;
  std::string deployment;                         ///< release-finalizers: scaled to 0 first
  Duration patience = std::chrono::seconds(100);  ///< release-finalizers: for the operator's end
  std::string kubeconfig;  ///< empty: $KUBECONFIG, in-cluster, ~/.kube/config
  std::string context;
  kube::TransportKind transport = kube::TransportKind::kCpprest;
  net::Endpoint listen;  ///< pages; default 127.0.0.1:8080
  LogLevel log_level = LogLevel::kInfo;
  bool show_version = false;
  cluster::OperatorSettings settings;
  /// Where the activators are; nullopt: there are none.
  std::optional<cluster::ActivatorPlace> activators;
  /// Where custom.metrics.k8s.io is served; nullopt: it is not.
  std::optional<metricsapi::MetricsServerOptions> metrics_api;
};

/// kInvalidArgument names the flag, the value and what was expected; `help` is set to the text of
/// --help when that was asked for.
Result<OperatorOptions> parse_operator_options(int argc, const char* const* argv,
                                               std::string& help);

}  // namespace kantha
