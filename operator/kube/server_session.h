#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/net/http_client.h"
#include "base/net/task.h"
#include "operator/kube/credentials.h"
#include "operator/kube/server_url.h"

/// What every transport to an API server does before and after the bytes. One executor.
namespace kantha::kube {

class ServerSession {
 public:
  /// Errors: those of parse_server_url and Credentials::load. `clock` outlives it.
  static Result<ServerSession> begin(const Clock& clock, const ClusterConfig& config);

  /// Uses the credentials that the files hold now; true when connections made so far are no longer
  /// right, and the first time.
  bool refresh();
  /// The request with the server's path and our token.
  net::HttpRequest complete(net::HttpRequest request) const;
  /// Notes what an answer, or its absence, says of our credentials.
  void judge(const Result<std::unique_ptr<net::ResponseStream>>& opened);

  const ServerUrl& url() const { return url_; }
  const net::TlsClientSettings& tls() const { return credentials_.tls(); }
  const Clock& clock() const { return *clock_; }

 private:
  ServerSession(const Clock& clock, ServerUrl url, Credentials credentials)
      : clock_(&clock), url_(std::move(url)), credentials_(std::move(credentials)) {}

  const Clock* clock_;
  ServerUrl url_;
  Credentials credentials_;
  bool is_fresh_ = true;
};

/// Reads an answer to its end. kOutOfRange beyond the bound.
net::Task<Result<net::HttpResponse>> read_whole(std::unique_ptr<net::ResponseStream> stream,
                                                const Clock& clock, TimePoint deadline,
                                                std::size_t body_bytes_max);

}  // namespace kantha::kube
