#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/transport.h"

namespace kantha::kube {

/// The transport on the C++ REST SDK; cpprest_link.h says what it cannot do. Its exchanges run on
/// the SDK's threads and are awaited on the executor, before whose context the transport must be
/// destroyed. Errors: those of ServerSession::begin; kUnimplemented for an IPv6 literal.
Result<std::unique_ptr<Transport>> make_cpprest_transport(boost::asio::any_io_executor executor,
                                                          const Clock& clock,
                                                          const ClusterConfig& config);

}  // namespace kantha::kube
