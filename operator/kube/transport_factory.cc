#include "operator/kube/transport_factory.h"

#include <utility>

#include "base/log.h"
#include "operator/kube/server_url.h"
#include "operator/kube/transport_beast.h"
#include "operator/kube/transport_cpprest.h"

namespace kantha::kube {

std::optional<TransportKind> transport_kind_of(std::string_view name) {
  if (name == "cpprest") return TransportKind::kCpprest;
  if (name == "beast") return TransportKind::kBeast;
  return std::nullopt;
}

std::string why_not_cpprest(const ClusterConfig& config) {
  const Result<ServerUrl> url = parse_server_url(config.server);
  if (!url || !url->has_ipv6_literal()) return {};
  return "cpprestsdk does not resolve IPv6 literals such as " + url->endpoint.host +
         "; use the server's DNS name, or the beast transport";
}

Result<std::unique_ptr<Transport>> make_transport(TransportKind kind,
                                                  boost::asio::any_io_executor executor,
                                                  const Clock& clock, const ClusterConfig& config) {
  const std::string reason =
      kind == TransportKind::kCpprest ? why_not_cpprest(config) : std::string();
  if (!reason.empty()) log_warn("using the beast transport instead", {{"reason", reason}});
  if (kind == TransportKind::kBeast || !reason.empty()) {
    return make_beast_transport(std::move(executor), clock, config);
  }
  return make_cpprest_transport(std::move(executor), clock, config);
}

}  // namespace kantha::kube
