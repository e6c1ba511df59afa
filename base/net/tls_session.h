#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_st;

namespace kantha::net {

/// One TLS connection as a machine on bytes: what came from the peer goes in, what must go to the
/// peer comes out. No socket and no waiting here. One owner.
class TlsSession {
 public:
  /// Owns the OpenSSL object, whose ends are memory.
  explicit TlsSession(ssl_st* ssl) : ssl_(ssl) {}
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  /// Goes on with the handshake: true when it is done, false when it needs bytes of the peer.
  /// kUnavailable says why it failed. Output may be there after each call, a failed one too.
  Result<bool> shake();
  /// The common name of the peer's certificate, if it showed one and that was found good; an empty
  /// text where it has none. After the handshake.
  std::optional<std::string> verified_peer() const;
  /// Bytes that came from the peer.
  void feed(std::string_view bytes);
  /// Bytes that the peer must get, before anything else is waited for.
  std::string take_output();
  /// Plain bytes → output.
  Status seal(std::string_view plain);
  /// The next plain bytes; nothing when more must be fed first; an empty string at the peer's
  /// proper end. kUnavailable: an alert, or bytes that are no TLS.
  Result<std::optional<std::string>> unseal();
  /// Says goodbye: puts a close_notify into the output, if the handshake was done.
  void say_end();

 private:
  ssl_st* ssl_;
};

}  // namespace kantha::net
