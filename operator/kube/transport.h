#pragma once

#include <cstddef>
#include <memory>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/net/http_client.h"
#include "base/net/task.h"
#include "base/result.h"

/// Requests to one API server, as bytes. Knows TLS, credentials and deadlines, and no kinds.
///
/// Implementations: transport_cpprest (the default), transport_beast, and the fake API server of
/// the tests; one set of contract tests runs on all. `target` is path and query; host,
/// authorization and accept headers are the transport's to add (callers may set Accept and
/// Content-Type). One executor; not thread-safe.
/// Guarantees: no redirect is followed; credentials are re-read when their files change, and after
/// a 401 the next request uses what the files hold then; nothing is retried here, but a request of
/// which no byte was sent.
/// Errors: kUnavailable (nobody took it), kDeadlineExceeded, kDataLoss (taken, and the answer was
/// cut or malformed), kOutOfRange (answer beyond its bound), kCancelled (close() was called).
namespace kantha::kube {

class Transport {
 public:
  virtual ~Transport() = default;

  /// One exchange within `timeout`; an answer of any status is a success.
  virtual net::Task<Result<net::HttpResponse>> call(net::HttpRequest request, Duration timeout,
                                                    std::size_t body_bytes_max) = 0;
  /// Returns when the answer's headers are there; its body is then read piece by piece (a watch).
  virtual net::Task<Result<std::unique_ptr<net::ResponseStream>>> open(net::HttpRequest request,
                                                                       Duration header_timeout) = 0;
  /// Ends every exchange with kCancelled, now and later.
  virtual void close() = 0;
};

}  // namespace kantha::kube
