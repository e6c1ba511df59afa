#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/net/task.h"
#include "operator/kube/api_client.h"
#include "operator/metricsapi/auth_config.h"
#include "operator/metricsapi/metric_path.h"

/// Who asks, and whether they may: decided by the API server. One executor.
///
/// A bearer token is shown to it as a TokenReview, each request as a SubjectAccessReview; answers
/// of both kinds are kept for ten seconds. While it does not answer, nobody new is let in.
namespace kantha::metricsapi {

class DelegatedAuth {
 public:
  DelegatedAuth(const Clock& clock, kube::ApiClient& client) : clock_(clock), client_(client) {}

  void set_config(AuthConfig config);
  const AuthConfig& config() const { return config_; }

  /// `peer` as user_from_headers takes it. kUnauthenticated: neither a front proxy nor a token that
  /// is good; kUnavailable: the API server did not say.
  net::Task<Result<User>> authenticate(net::HttpRequest request, std::optional<std::string> peer);
  /// ok, or kPermissionDenied with the reason; kUnavailable: the API server did not say.
  net::Task<Status> authorize(User user, ApiQuery query);

  /// Reviews asked of the API server so far, for tests and the debug page.
  std::int64_t review_count() const { return review_count_; }

 private:
  template <class T>
  using Cache = std::map<std::string, std::pair<TimePoint, T>>;

  template <class T>
  std::optional<T> cached(Cache<T>& cache, const std::string& key);
  template <class T>
  void keep(Cache<T>& cache, const std::string& key, T value);
  net::Task<Result<Json>> review(kube::Resource resource, Json spec);

  const Clock& clock_;
  kube::ApiClient& client_;
  AuthConfig config_;
  Cache<std::optional<User>> tokens_;  ///< by the token's digest; nullopt: it is no good
  Cache<std::string> verdicts_;        ///< by user and request; empty: allowed, else why not
  std::int64_t review_count_ = 0;
};

}  // namespace kantha::metricsapi
