#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/net/http.h"
#include "base/net/task.h"
#include "base/net/tls_context.h"
#include "base/result.h"

/// An HTTP/1.1 server on Asio and Beast: TCP and Unix sockets, keep-alive, chunked streams, limits.
///
/// Flow: accept → read one request within the limits → handler → next request on the connection.
/// Guarantees: a malformed or oversized request is answered with 400, 408, 413, 414, 417 or 431 and
/// an OpenAI error object, and never reaches the handler; both Content-Length and
/// Transfer-Encoding, repeated Content-Length, bare LF, obs-fold and control characters in names
/// are refused (request smuggling); one handler runs per connection at a time; a handler that
/// throws or returns without an answer becomes a 500 and a log line.
///
/// Client gone: the end of the client's sending side (FIN) or a reset, seen while a handler runs.
/// A half-close counts as gone: HTTP clients close fully, and a FIN is all that a dead client
/// sends. send() still tries to deliver, so that a half-closed client gets a whole answer that
/// comes; write() gives kCancelled. Bytes of a next, pipelined request are no sign of leaving.
///
/// Assumptions: everything runs on one executor (a strand or a one-thread io_context); the handler
/// awaits and never blocks; a writer's calls are awaited one after the other; the server is
/// destroyed before its executor's context.
namespace kantha::net {

/// The answering side of one request. Lives until the handler's task ends. Executor's thread only.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  /// Sends a whole answer with Content-Length. Exactly one of send or start per request.
  virtual Task<Status> send(HttpResponse response) = 0;
  /// Sends status and headers at once; the body follows in pieces (chunked).
  virtual Task<Status> start(int status, Headers headers) = 0;
  /// One piece, flushed at once (TCP_NODELAY). kCancelled when the client is gone,
  /// kDeadlineExceeded when it has not read for write_stall_timeout.
  virtual Task<Status> write(std::string bytes) = 0;
  /// Ends the body properly.
  virtual Task<Status> finish() = 0;
  /// Closes the connection without the final chunk, so that the client sees a broken stream.
  virtual void abort() = 0;
  /// True once send or start was called.
  virtual bool started() const = 0;
  /// True once the client has closed its side or the connection failed.
  virtual bool client_gone() const = 0;
  /// Calls `callback` once, on the executor, when the client goes away while the handler still runs
  /// (noticed within 100 ms, also while nothing is being written); at once if already gone.
  virtual void on_client_gone(std::function<void()> callback) = 0;
  /// The common name of the client's certificate, where one was shown over TLS and found good.
  virtual std::optional<std::string> tls_peer() const { return std::nullopt; }
};

/// Answers one request. The writer outlives the returned task's run.
using HttpHandler = std::function<Task<void>(HttpRequest request, ResponseWriter& writer)>;

class HttpServer {
 public:
  HttpServer(boost::asio::any_io_executor executor, HttpHandler handler, HttpLimits limits = {});
  ~HttpServer();

  /// Connections accepted from now on must speak TLS; a handshake has header_timeout. With another
  /// context than before, connections that idle are closed and the others close after their answer,
  /// so that nobody stays with who he was.
  void set_tls(std::shared_ptr<const TlsContext> context);
  /// Binds and listens; gives the endpoint with the real port (for port 0). May be called several
  /// times. kAlreadyExists "port 8000 on 127.0.0.1 is in use" / kPermissionDenied /
  /// kInvalidArgument. A stale Unix socket file that nobody answers on is replaced; a live one is
  /// kAlreadyExists. Unix sockets get mode 0600.
  Result<Endpoint> listen(const Endpoint& endpoint);
  /// Accepts from a listening TCP or Unix socket made by somebody else and takes ownership of it.
  /// Several processes may accept from one socket.
  Result<Endpoint> adopt(int listening_fd);
  /// Stops accepting; open connections go on, and answers get "Connection: close".
  void stop_accepting();
  /// Requests that a handler is answering now.
  std::size_t active_requests() const;
  std::size_t open_connections() const;
  /// stop_accepting, then waits until no handler runs or the timeout passes, then closes the rest
  /// (and lets handlers unwind for at most another second).
  Task<void> drain(Duration timeout);
  /// Closes everything now.
  void close();

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

/// Makes a listening TCP socket that several processes can share; the caller owns the descriptor.
/// Errors as HttpServer::listen. Gives the descriptor and the endpoint with its real port.
Result<std::pair<int, Endpoint>> open_listener(const Endpoint& endpoint);

}  // namespace kantha::net
