#pragma once

#include <memory>
#include <string>

#include "base/net/http_client.h"
#include "base/net/task.h"
#include "noded/api/pod_state.h"
#include "operator/kube/api_client.h"

/// What the operator asks the nodeds of its pods. One executor.
///
/// It asks only while a plan depends on the answer (a pod was told a new revision): an idle fleet
/// costs no call.
namespace kantha::cluster {

/// One pod, and whose it is.
struct PodAddress {
  kube::ObjectKey pod;
  std::string ip;           ///< status.podIP; empty: it has none yet, nobody is asked
  std::string serving;      ///< name of the ModelServing, in the pod's namespace
  std::string serving_uid;  ///< its token is another one when the object was made anew
};

class PodDoor {
 public:
  virtual ~PodDoor() = default;
  /// GET /admin/v1/state, within two seconds. kUnavailable: nobody answers; kUnauthenticated: not
  /// with this token; kDataLoss: not a state.
  virtual net::Task<Result<noded::PodState>> state(PodAddress pod) = 0;
  /// PUT /admin/v1/engine-config with the text of engine.json; noded obeys when running streams
  /// allow it. Errors as above.
  virtual net::Task<Status> push_config(PodAddress pod, std::string config) = 0;
  /// PUT /admin/v1/fleet with the JSON of a FleetView. Doors of worlds without peers take it and
  /// do nothing.
  virtual net::Task<Status> push_fleet(PodAddress, std::string) { co_return ok_status(); }
};

/// Over HTTP to IP:8001, with the token of Secret NAME-admin. The token is read once for each
/// ModelServing and again after a 401.
class HttpPodDoor final : public PodDoor {
 public:
  HttpPodDoor(boost::asio::any_io_executor executor, kube::ApiClient& client,
              std::uint16_t port = 8001);
  ~HttpPodDoor() override;

  net::Task<Result<noded::PodState>> state(PodAddress pod) override;
  net::Task<Status> push_config(PodAddress pod, std::string config) override;
  net::Task<Status> push_fleet(PodAddress pod, std::string view) override;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::cluster
