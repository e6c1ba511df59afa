#pragma once

#include <memory>
#include <string>

#include "base/net/tls_session.h"
#include "base/result.h"

struct ssl_ctx_st;

/// What a program trusts and who it is, for TLS connections. OpenSSL stays behind this page and
/// tls_session.h. Contexts do not change once made; a rotated certificate is a new context.
/// TLS 1.2 and newer; certificates and keys are PEM texts. Any thread.
namespace kantha::net {

struct TlsClientSettings {
  std::string ca_pem = {};           ///< the only roots trusted; empty: those of the system
  std::string certificate_pem = {};  ///< our own, then its intermediates; empty: we show none
  std::string key_pem = {};          ///< of our own certificate; not encrypted
  std::string server_name =
      {};                    ///< what the peer's certificate must name; empty: the host asked for
  bool skip_verify = false;  ///< takes any peer's certificate
  bool operator==(const TlsClientSettings&) const = default;
};

struct TlsServerSettings {
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::string client_ca_pem = {};  ///< set: clients must show a certificate of these roots
  /// Clients may show one or not; a handler sees whose was good (ResponseWriter::tls_peer).
  bool is_client_ca_optional = false;
  bool operator==(const TlsServerSettings&) const = default;
};

class TlsContext {
 public:
  /// kInvalidArgument names the part that is malformed, or does not fit the others.
  static Result<std::shared_ptr<const TlsContext>> for_client(const TlsClientSettings& settings);
  static Result<std::shared_ptr<const TlsContext>> for_server(const TlsServerSettings& settings);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// The client's side of a connection to `host` (a name or an IP literal, which its certificate
  /// must carry in a subject alternative name), or the server's side of any.
  std::unique_ptr<TlsSession> new_session(const std::string& host) const;

 private:
  explicit TlsContext(ssl_ctx_st* context, std::string server_name, bool is_client)
      : context_(context), server_name_(std::move(server_name)), is_client_(is_client) {}

  ssl_ctx_st* context_;
  std::string server_name_;
  bool is_client_;
};

}  // namespace kantha::net
