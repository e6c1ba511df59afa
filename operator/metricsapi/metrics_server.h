#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "operator/kube/api_client.h"
#include "operator/metricsapi/metric_table.h"

/// custom.metrics.k8s.io (and external.metrics.k8s.io) over HTTPS, as the API server's aggregation
/// layer and an HPA ask for it.
///
/// Flow: request → who asks (front proxy's certificate and headers, or a token) → may they
/// (SubjectAccessReview) → discovery, or figures from the table.
/// Guarantees: identity headers count only with a certificate of the request-header CA and an
/// allowed name; nobody is let in while the API server gives no reviews; /livez, /readyz and
/// /healthz are open. The ConfigMap with those CAs and the serving certificate are read again every
/// ten seconds, and a change ends idle connections, so that an old identity does not live on.
/// One executor.
namespace kantha::metricsapi {

struct MetricsServerOptions {
  net::Endpoint listen{"0.0.0.0", 8443};
  std::string certificate_file;  ///< PEM, of the Service's name; with its intermediates
  std::string key_file;
  bool has_external = false;                       ///< external.metrics.k8s.io, too
  Duration look_every = std::chrono::seconds(10);  ///< at the files and the ConfigMap
};

class MetricsServer {
 public:
  /// `is_ready`: the cluster is in view.
  MetricsServer(boost::asio::any_io_executor executor, const Clock& clock, kube::ApiClient& client,
                const MetricTable& table, MetricsServerOptions options,
                std::function<bool()> is_ready);
  ~MetricsServer();

  /// kInvalidArgument, kNotFound: the certificate; else as HttpServer::listen.
  Result<net::Endpoint> start();
  /// Looks after certificate and ConfigMap until stop().
  net::Task<void> run();
  void stop();

  std::int64_t answered_count() const;
  std::int64_t review_count() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::metricsapi
