#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/net/http.h"
#include "base/net/tls_context.h"

/// The C++ REST SDK (cpprestsdk 2.10) behind plain callbacks: its headers, its C++20 and its
/// threads stay in cpprest_link.cc. Outbound calls only; redirects off.
///
/// What it cannot do, and whoever uses it has to live with: a kept connection that the server has
/// closed is replaced, and its request, a POST too, sent again; a whole chunk of an answer is in
/// memory before any of it is given; IPv6 literals do not resolve; the system's roots are read
/// for each connection, so that this process's SSL_CERT_FILE points to nothing once a link has
/// roots of its own.
/// Source: the SDK's own http_client_asio.cpp, and research on this SDK in docs/decisions.
namespace kantha::kube {

/// One answer as it comes. Calls come on the SDK's threads, never two at a time for pieces; pieces
/// may come before the head. After on_end or on_failure nothing comes.
class CpprestSink {
 public:
  virtual ~CpprestSink() = default;
  virtual void on_head(int status, net::Headers headers) = 0;
  /// Nothing more is read from the server before `go_on` has run (any thread, once).
  virtual void on_piece(std::string bytes, std::function<void()> go_on) = 0;
  /// The answer's proper end.
  virtual void on_end() = 0;
  /// `was_taken`: the server may have got the request.
  virtual void on_failure(bool was_taken, std::string message) = 0;
};

struct CpprestSettings {
  std::string base_url = {};  ///< "https://10.0.0.1:6443", no path
  std::string host_header =
      {};  ///< the name that the certificate must carry; empty: the URL's host
  net::TlsClientSettings tls = {};
  /// A connection on which nothing moves for so long is given up. A backstop: deadlines are kept
  /// by whoever calls, who cancels.
  Duration idle_timeout = std::chrono::minutes(5);
};

/// Connections to one server with one set of credentials. Cheap to make anew. Thread-safe.
class CpprestLink {
 public:
  explicit CpprestLink(const CpprestSettings& settings);
  ~CpprestLink();
  /// Sends the request; the sink is held until the exchange is over. What it gives cancels the
  /// exchange (any thread, any number of times, also later).
  std::function<void()> begin(const net::HttpRequest& request, std::shared_ptr<CpprestSink> sink);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::kube
