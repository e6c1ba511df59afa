#include "base/net/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace kantha::net {
namespace {

constexpr std::size_t kPieceBytesMax = 64u << 10;
/// One call of SSL_write takes an int.
constexpr std::size_t kSealBytesMax = 1u << 20;

/// Why the last call failed, from what OpenSSL left behind.
Error failure_of(SSL* ssl) {
  const long verdict = SSL_get_verify_result(ssl);
  const unsigned long code = ERR_peek_error();
  const bool is_verdict = verdict != X509_V_OK && !SSL_is_server(ssl);
  const char* reason = is_verdict  ? X509_verify_cert_error_string(verdict)
                       : code != 0 ? ERR_reason_error_string(code)
                                   : nullptr;
  const char* where = is_verdict ? "TLS: the peer's certificate is refused: " : "TLS: ";
  ERR_clear_error();
  return unavailable(std::string(where) + (reason != nullptr ? reason : "protocol error"));
}

}  // namespace

TlsSession::~TlsSession() { SSL_free(ssl_); }

Result<bool> TlsSession::shake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_);
  if (done == 1) return true;
  if (SSL_get_error(ssl_, done) == SSL_ERROR_WANT_READ) return false;
  return failure_of(ssl_);
}

std::optional<std::string> TlsSession::verified_peer() const {
  X509* certificate = SSL_get1_peer_certificate(ssl_);
  if (certificate == nullptr) return std::nullopt;
  std::optional<std::string> out;
  if (SSL_get_verify_result(ssl_) == X509_V_OK) {
    out.emplace();
    const X509_NAME* subject = X509_get_subject_name(certificate);
    const int at = X509_NAME_get_index_by_NID(const_cast<X509_NAME*>(subject), NID_commonName, -1);
    unsigned char* text = nullptr;
    const ASN1_STRING* name =
        at < 0 ? nullptr : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    const int length = name == nullptr ? -1 : ASN1_STRING_to_UTF8(&text, name);
    if (length > 0) out->assign(reinterpret_cast<char*>(text), static_cast<std::size_t>(length));
    OPENSSL_free(text);
  }
  X509_free(certificate);
  ERR_clear_error();
  return out;
}

void TlsSession::feed(std::string_view bytes) {
  CHECK(bytes.size() <= INT32_MAX, "a piece from a socket is small");
  const int taken = BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
  CHECK(taken == static_cast<int>(bytes.size()), "memory takes everything");
}

std::string TlsSession::take_output() {
  BIO* output = SSL_get_wbio(ssl_);
  std::string bytes(BIO_ctrl_pending(output), '\0');
  if (!bytes.empty()) BIO_read(output, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

Status TlsSession::seal(std::string_view plain) {
  while (!plain.empty()) {
    const std::size_t count = std::min(plain.size(), kSealBytesMax);
    ERR_clear_error();
    if (SSL_write(ssl_, plain.data(), static_cast<int>(count)) <= 0) return failure_of(ssl_);
    plain.remove_prefix(count);
  }
  return ok_status();
}

Result<std::optional<std::string>> TlsSession::unseal() {
  std::array<char, 16u << 10> space;
  std::string plain;
  while (plain.size() < kPieceBytesMax) {
    ERR_clear_error();
    const int count = SSL_read(ssl_, space.data(), static_cast<int>(space.size()));
    if (count > 0) {
      plain.append(space.data(), static_cast<std::size_t>(count));
      continue;
    }
    // What was read before an end or a failure is given first; the next call finds it again.
    if (!plain.empty()) break;
    const int why = SSL_get_error(ssl_, count);
    if (why == SSL_ERROR_WANT_READ) return std::optional<std::string>();
    if (why == SSL_ERROR_ZERO_RETURN) break;
    return failure_of(ssl_);
  }
  return std::optional(std::move(plain));
}

void TlsSession::say_end() {
  if (!SSL_is_init_finished(ssl_)) return;
  ERR_clear_error();
  SSL_shutdown(ssl_);
  ERR_clear_error();
}

}  // namespace kantha::net
