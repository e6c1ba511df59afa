#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/net/tls_context.h"
#include "tests/base/net/loopback.h"

/// The other side of TLS connections, in a test's hands byte by byte.
namespace kantha::net {

/// Value of the first field of that name in a message's head; empty when there is none.
std::string field_of(std::string_view message, std::string_view name);

/// A blocking TLS connection over a RawPeer. Reads give what came before end, error or timeout.
class TlsPeer {
 public:
  /// Takes the server's side of the handshake; see is_up().
  TlsPeer(RawPeer& raw, const TlsContext& context);
  bool is_up() const { return is_up_; }
  bool send(std::string_view plain);
  std::string read_until(std::string_view end);
  /// One request: head and as many body bytes as its Content-Length says; empty when none came.
  std::string read_request();
  /// Ends the connection as TLS wants it.
  void end();
  /// Ends it without a word.
  void cut() { raw_.close(); }
  /// True when the peer's end comes within patience.
  bool sees_end();

 private:
  bool receive();
  RawPeer& raw_;
  std::unique_ptr<TlsSession> session_;
  std::string buffer_;
  bool is_up_ = false;
};

/// A listening socket on 127.0.0.1; each connection is answered by the script on a thread of its
/// own. The script gets the connection's number from 0.
class ScriptedTlsServer {
 public:
  using Script = std::function<void(TlsPeer& peer, int number)>;
  ScriptedTlsServer(const TlsServerSettings& settings, Script script);
  ~ScriptedTlsServer();
  const Endpoint& endpoint() const { return endpoint_; }
  int connection_count() const { return count_; }
  /// For connections from now on.
  void use(const TlsServerSettings& settings);

 private:
  void accept_all();
  void serve(int fd, int number);

  Script script_;
  std::mutex mutex_;
  std::shared_ptr<const TlsContext> context_;
  int listen_fd_ = -1;
  Endpoint endpoint_;
  std::atomic<int> count_ = 0;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace kantha::net
