#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "base/net/http.h"
#include "base/net/proxy_tunnel.h"
#include "base/net/task.h"
#include "base/net/tls_context.h"
#include "base/result.h"

/// An HTTP/1.1 client on Asio and Beast, for TCP and Unix sockets, with streamed answers.
/// Errors: kUnavailable (refused, reset, no such socket), kDeadlineExceeded, kDataLoss (malformed
/// or cut answer), kOutOfRange (answer beyond a limit). Redirects are not followed. One executor.
namespace kantha::net {

/// Lets somebody else end an exchange that is under way (a front door gives up a request whose
/// client has left before the answer began). One executor.
class CancelSignal {
 public:
  /// Runs the callbacks once, in order; later calls do nothing.
  void cancel();
  bool cancelled() const { return cancelled_; }
  /// At once when already cancelled.
  void on_cancel(std::function<void()> callback);

 private:
  bool cancelled_ = false;
  std::vector<std::function<void()>> callbacks_;
};

/// An answer whose body is still arriving. Destroying it closes the connection, unless the body was
/// read to its end, when the connection goes back to the client's pool.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  /// The next bytes of the body as they arrive, as one piece; an empty string at its proper end;
  /// kDataLoss when the peer cut it; after kDeadlineExceeded it may be called again.
  virtual Task<Result<std::string>> read(Duration idle_timeout) = 0;
  /// Makes a pending read end with kCancelled and closes. Executor's thread.
  virtual void cancel() = 0;
};

class HttpClient {
 public:
  explicit HttpClient(boost::asio::any_io_executor executor);
  ~HttpClient();

  /// From now on connections are made with TLS, or without it for nullptr; idle ones are dropped,
  /// and those in use not kept. A handshake that fails is kUnavailable, and its words begin "TLS:".
  void set_tls(std::shared_ptr<const TlsContext> context);
  /// From now on connections are made through this proxy; before the first exchange.
  void set_tunnel(Tunnel tunnel);
  /// Whole exchange within the timeout; the answer's body is at most `body_bytes_max`.
  Task<Result<HttpResponse>> call(Endpoint endpoint, HttpRequest request, Duration timeout,
                                  std::size_t body_bytes_max = 8u << 20);
  /// Sends the request and returns when the answer's headers are there.
  /// kUnavailable: nobody took the request (no connection, or it failed before the request was
  /// sent); kDataLoss: the peer took it and ended before its answer's headers were whole;
  /// kCancelled: `cancel` was signalled (which also covers the connect phase; after the headers use
  /// ResponseStream::cancel). A kept connection that fails before any byte of an answer is replaced
  /// by a fresh one once, within the same timeout: for GET, HEAD and what may be repeated, or when
  /// no byte of the request had been sent (RFC 9110 section 9.2.2). `on_resend` hears of it before.
  Task<Result<std::unique_ptr<ResponseStream>>> open(Endpoint endpoint, HttpRequest request,
                                                     Duration header_timeout,
                                                     std::shared_ptr<CancelSignal> cancel = {},
                                                     std::function<void()> on_resend = {});

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::net
