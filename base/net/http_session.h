#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/net/client_watch.h"
#include "base/net/http_server.h"
#include "base/net/request_reader.h"
#include "base/net/session_writer.h"
#include "base/net/task_group.h"
#include "base/net/timed_socket.h"
#include "base/net/tls_context.h"

/// One connection of an HTTP server.
namespace kantha::net {

class HttpSession;

/// What a server's connections share. Executor's thread only.
struct ServerState {
  ServerState(boost::asio::any_io_executor on, HttpHandler with, HttpLimits within)
      : executor(on), handler(std::move(with)), limits(within), changed(on) {}

  boost::asio::any_io_executor executor;
  HttpHandler handler;
  HttpLimits limits;
  std::shared_ptr<const TlsContext> tls = {};
  bool is_stopping = false;
  std::size_t active_requests = 0;
  std::uint64_t bodies_bytes = 0;  ///< of requests that arrive or are answered
  /// Registered by their constructors, removed by their destructors.
  std::set<HttpSession*> sessions = {};
  /// A handler or a session has ended.
  Notify changed;
};

class HttpSession {
 public:
  /// Owns the accepted descriptor.
  HttpSession(std::shared_ptr<ServerState> state, int fd);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  /// Answers requests until the connection ends.
  static Task<void> serve(std::shared_ptr<HttpSession> self);
  /// Answers 503 whatever is asked: the server has too many connections.
  static Task<void> turn_away(std::shared_ptr<HttpSession> self);
  /// Closes now; a running handler learns that its client is gone.
  void close();
  /// No handler runs for it.
  bool is_idle() const { return writer_ == nullptr; }

 private:
  /// True when the connection can carry another request.
  Task<bool> answer(IncomingRequest incoming);
  Task<void> refuse(Refusal refusal);
  /// Sends FIN and lets the peer read what we sent: closing with unread bytes would reset the
  /// connection and could destroy the answer on its way.
  Task<void> linger();

  std::shared_ptr<ServerState> state_;
  TimedSocket socket_;
  RequestReader reader_;
  ClientWatch watch_;
  SessionWriter* writer_ = nullptr;
  std::shared_ptr<const TlsContext> tls_ = {};  ///< with which it shook hands
  std::optional<std::string> tls_peer_ = {};    ///< whose certificate was good
};

}  // namespace kantha::net
