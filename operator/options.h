#pragma once

#include <string>

#include "base/log.h"
#include "base/net/http.h"
#include "base/result.h"
#include "operator/cluster/operator_settings.h"
#include "operator/kube/transport_factory.h"

namespace kantha {

/// Command line of kantha-operator, checked.
struct OperatorOptions {
  std::string kubeconfig;  ///< empty: $KUBECONFIG, in-cluster, ~/.kube/config
  std::string context;
  kube::TransportKind transport = kube::TransportKind::kCpprest;
  net::Endpoint listen;  ///< pages; default 127.0.0.1:8080
  LogLevel log_level = LogLevel::kInfo;
  bool show_version = false;
  cluster::OperatorSettings settings;
};

/// kInvalidArgument names the flag, the value and what was expected; `help` is set to the text of
/// --help when that was asked for.
Result<OperatorOptions> parse_operator_options(int argc, const char* const* argv,
                                               std::string& help);

}  // namespace kantha
