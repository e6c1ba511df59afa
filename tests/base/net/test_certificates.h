#pragma once

#include <string>

/// Certificates made on the spot, with keys of P-256, for TLS on loopback.
namespace kantha::net {

struct TestIdentity {
  std::string certificate_pem;
  std::string key_pem;
};

/// A certificate authority of its own. Two of the same name do not trust each other.
class TestAuthority {
 public:
  /// Valid from yesterday until `days` from now.
  explicit TestAuthority(const std::string& name = "test authority", int days = 2);
  const std::string& pem() const { return self_.certificate_pem; }
  /// `alt_names` as in "DNS:localhost,IP:127.0.0.1"; valid from yesterday until `days` from now.
  TestIdentity issue(const std::string& name, const std::string& alt_names, int days = 1) const;

 private:
  TestIdentity self_;
};

}  // namespace kantha::net
