#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/net/http.h"
#include "base/net/task.h"
#include "base/result.h"

/// An HTTP/1.1 client on Asio and Beast, for TCP and Unix sockets, with streamed answers.
/// Errors: kUnavailable (refused, reset, no such socket), kDeadlineExceeded, kDataLoss (malformed or
/// cut answer), kOutOfRange (answer beyond a limit). Redirects are not followed. One executor.
namespace kantha::net {

/// An answer whose body is still arriving. Destroying it closes the connection, unless the body was
/// read to its end, when the connection goes back to the client's pool.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  /// The next bytes of the body as they arrive, as one piece; an empty string at its proper end;
  /// kDataLoss when the peer cut it.
  virtual Task<Result<std::string>> read(Duration idle_timeout) = 0;
  /// Makes a pending read end with kCancelled and closes. Executor's thread.
  virtual void cancel() = 0;
};

class HttpClient {
 public:
  explicit HttpClient(boost::asio::any_io_executor executor);
  ~HttpClient();

  /// Whole exchange within the timeout; the answer's body is at most `body_bytes_max`.
  Task<Result<HttpResponse>> call(Endpoint endpoint, HttpRequest request, Duration timeout,
                                  std::size_t body_bytes_max = 8u << 20);
  /// Sends the request and returns when the answer's headers are there.
  Task<Result<std::unique_ptr<ResponseStream>>> open(Endpoint endpoint, HttpRequest request,
                                                     Duration header_timeout);

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

}  // namespace kantha::net
