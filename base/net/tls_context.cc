#include "base/net/tls_context.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <utility>
#include <vector>

#include "base/check.h"

namespace kantha::net {
namespace {

/// Frees what OpenSSL gave.
template <auto kFree>
struct Free {
  void operator()(auto* object) const { kFree(object); }
};
using BioPtr = std::unique_ptr<BIO, Free<BIO_free_all>>;
using CertificatePtr = std::unique_ptr<X509, Free<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;

/// More than any bundle of roots has.
constexpr std::size_t kCertificatesMax = 2000;

BioPtr reader_of(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<std::vector<CertificatePtr>> certificates_of(const std::string& pem,
                                                    const std::string& field) {
  std::vector<CertificatePtr> found;
  const BioPtr reader = reader_of(pem);
  while (found.size() < kCertificatesMax) {
    CertificatePtr next(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
    if (!next) break;
    found.push_back(std::move(next));
  }
  const bool is_at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (found.empty() || !is_at_end) return invalid_argument("holds no PEM certificates", field);
  return found;
}

/// An encrypted key is refused instead of asking for its password on the terminal.
int no_password(char*, int, int, void*) { return 0; }

/// The verdict stays in the connection (TlsSession::verified_peer), and the handshake goes on.
int go_on_anyway(int, X509_STORE_CTX*) { return 1; }

Status use_identity(SSL_CTX* context, const std::string& certificate_pem,
                    const std::string& key_pem) {
  TRY(const std::vector<CertificatePtr> chain, certificates_of(certificate_pem, "certificate"));
  const KeyPtr key(
      PEM_read_bio_PrivateKey(reader_of(key_pem).get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  if (!key) return invalid_argument("holds no PEM private key without a password", "key");
  bool is_taken = SSL_CTX_use_certificate(context, chain.front().get()) == 1;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    is_taken = is_taken && SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  if (!is_taken) return invalid_argument("is not taken by OpenSSL", "certificate");
  const bool fits =
      SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  if (!fits) return invalid_argument("is not the key of the certificate", "key");
  return ok_status();
}

Status trust(SSL_CTX* context, const std::string& ca_pem) {
  TRY(const std::vector<CertificatePtr> roots, certificates_of(ca_pem, "ca"));
  for (const CertificatePtr& root : roots) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root.get());
  }
  return ok_status();
}

ContextPtr new_context(const SSL_METHOD* method) {
  ContextPtr context(SSL_CTX_new(method));
  CHECK(context != nullptr, "OpenSSL makes a context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  return context;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::for_client(
    const TlsClientSettings& settings) {
  ContextPtr context = new_context(TLS_client_method());
  if (!settings.ca_pem.empty()) {
    TRY_OK(trust(context.get(), settings.ca_pem));
  } else {
    SSL_CTX_set_default_verify_paths(context.get());
  }
  if (!settings.certificate_pem.empty() || !settings.key_pem.empty()) {
    TRY_OK(use_identity(context.get(), settings.certificate_pem, settings.key_pem));
  }
  SSL_CTX_set_verify(context.get(), settings.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                     nullptr);
  return std::shared_ptr<const TlsContext>(
      new TlsContext(context.release(), settings.server_name, true));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::for_server(
    const TlsServerSettings& settings) {
  ContextPtr context = new_context(TLS_server_method());
  TRY_OK(use_identity(context.get(), settings.certificate_pem, settings.key_pem));
  if (!settings.client_ca_pem.empty()) {
    TRY_OK(trust(context.get(), settings.client_ca_pem));
    if (settings.is_client_ca_optional) {
      SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, go_on_anyway);
    } else {
      SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
  }
  // No session is resumed: a client whose certificate was withdrawn shows it again each time.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  return std::shared_ptr<const TlsContext>(new TlsContext(context.release(), "", false));
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::unique_ptr<TlsSession> TlsContext::new_session(const std::string& host) const {
  SSL* ssl = SSL_new(context_);
  CHECK(ssl != nullptr, "OpenSSL makes a connection");
  auto session = std::make_unique<TlsSession>(ssl);
  BIO* input = BIO_new(BIO_s_mem());
  BIO* output = BIO_new(BIO_s_mem());
  CHECK(input != nullptr && output != nullptr, "OpenSSL makes memory ends");
  SSL_set_bio(ssl, input, output);
  if (!is_client_) {
    SSL_set_accept_state(ssl);
    return session;
  }
  SSL_set_connect_state(ssl);
  const std::string& name = server_name_.empty() ? host : server_name_;
  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // An IP literal is matched with addresses, and is never asked for by name (RFC 6066).
  const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1;
  if (!is_address) {
    CHECK(X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size()) == 1, "a name is set");
    SSL_set_tlsext_host_name(ssl, name.c_str());
  }
  ERR_clear_error();
  return session;
}

}  // namespace kantha::net
