#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/task.h"
#include "noded/api/activation.h"
#include "operator/kube/api_client.h"

/// What the operator asks of activators (kantha-noded --activator). One executor.
namespace kantha::cluster {

inline constexpr kube::Resource kEndpointSlices{"discovery.k8s.io", "v1", "endpointslices",
                                                "EndpointSlice"};

class ActivatorDoor {
 public:
  virtual ~ActivatorDoor() = default;
  /// Addresses of the activators that are ready or on their way out, sorted.
  virtual net::Task<Result<std::vector<std::string>>> list() = 0;
  /// Tells an activator the table (JSON of an ActivationTable), or only asks; gives what it says,
  /// within two seconds. Errors as PodDoor's.
  virtual net::Task<Result<noded::ActivatorState>> exchange(std::string address,
                                                            std::optional<std::string> table) = 0;
};

/// Where the activators are.
struct ActivatorPlace {
  kube::ObjectKey service;    ///< their Service
  std::string token_file;     ///< with the token of their admin API
  std::uint16_t port = 8001;  ///< of that API
};

/// Over HTTP; the addresses are those of the Service's EndpointSlices. The token's file is read for
/// every exchange: it may be rotated, and it is small.
class HttpActivatorDoor final : public ActivatorDoor {
 public:
  HttpActivatorDoor(boost::asio::any_io_executor executor, kube::ApiClient& client,
                    ActivatorPlace place);
  ~HttpActivatorDoor() override;

  net::Task<Result<std::vector<std::string>>> list() override;
  net::Task<Result<noded::ActivatorState>> exchange(std::string address,
                                                    std::optional<std::string> table) override;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

/// The addresses in EndpointSlices, sorted, each once; of the family of the first. Those that are
/// not ready are left out, but for those that end: requests may wait in them. Pure.
std::vector<std::string> activator_addresses(const std::vector<Json>& slices);

}  // namespace kantha::cluster
