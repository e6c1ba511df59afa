#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/transport.h"

namespace kantha::kube {

/// The transport on our own HTTP client (Asio, OpenSSL, and Beast's parser). Errors: those of
/// ServerSession::begin.
Result<std::unique_ptr<Transport>> make_beast_transport(boost::asio::any_io_executor executor,
                                                        const Clock& clock,
                                                        const ClusterConfig& config);

}  // namespace kantha::kube
