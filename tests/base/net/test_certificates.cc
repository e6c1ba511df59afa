#include "tests/base/net/test_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "base/check.h"

namespace kantha::net {
namespace {

constexpr long kDay = 24 * 3600;

std::string text_of(BIO* bio) {
  std::string text(BIO_ctrl_pending(bio), '\0');
  BIO_read(bio, text.data(), static_cast<int>(text.size()));
  BIO_free(bio);
  return text;
}

std::string pem_of(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return text_of(bio);
}

std::string pem_of(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio);
}

void extend(X509* certificate, int nid, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
  CHECK(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

X509* new_certificate(EVP_PKEY* key, const std::string& name, int days) {
  static std::atomic<long> serial = 1;
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDay);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name, int days) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = new_certificate(key, name, days);
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  extend(certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate, key, EVP_sha256());
  self_ = {pem_of(certificate), pem_of(key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
}

TestIdentity TestAuthority::issue(const std::string& name, const std::string& alt_names,
                                  int days) const {
  BIO* authority_text = BIO_new_mem_buf(self_.certificate_pem.data(), -1);
  X509* authority = PEM_read_bio_X509(authority_text, nullptr, nullptr, nullptr);
  BIO* key_text = BIO_new_mem_buf(self_.key_pem.data(), -1);
  EVP_PKEY* authority_key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = new_certificate(key, name, days);
  X509_set_issuer_name(certificate, X509_get_subject_name(authority));
  extend(certificate, NID_basic_constraints, "CA:FALSE");
  extend(certificate, NID_ext_key_usage, "serverAuth,clientAuth");
  extend(certificate, NID_subject_alt_name, alt_names);
  X509_sign(certificate, authority_key, EVP_sha256());
  TestIdentity out = {pem_of(certificate), pem_of(key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  EVP_PKEY_free(authority_key);
  X509_free(authority);
  BIO_free(key_text);
  BIO_free(authority_text);
  return out;
}

}  // namespace kantha::net
