#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/transport.h"

/// Which transport carries the calls to an API server.
namespace kantha::kube {

enum class TransportKind : std::uint8_t {
  kCpprest,  ///< Microsoft's C++ REST SDK; the default
  kBeast,    ///< our own HTTP client
};

/// "cpprest" or "beast"; nothing for another text.
std::optional<TransportKind> transport_kind_of(std::string_view name);

/// Why cpprest cannot talk to this server, as a sentence; empty when it can.
std::string why_not_cpprest(const ClusterConfig& config);

/// A transport of that kind; the other one, with a line in the log, where cpprest cannot do what
/// the configuration asks for. `clock` outlives it. Errors name the field or file at fault.
Result<std::unique_ptr<Transport>> make_transport(TransportKind kind,
                                                  boost::asio::any_io_executor executor,
                                                  const Clock& clock, const ClusterConfig& config);

}  // namespace kantha::kube
