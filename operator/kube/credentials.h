#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/net/tls_context.h"
#include "base/result.h"
#include "operator/kube/cluster_config.h"

/// Who we are and whom we trust, read again when the files change. One owner.
///
/// Files are compared by inode, size and time, through links, as a mounted Secret or a projected
/// token changes: at most once a second, and at once after suspect(). While new files cannot be
/// used (half written, or a certificate whose key is not there yet) what was read before stays.
namespace kantha::kube {

class Credentials {
 public:
  /// Reads everything once; an error names the file or the field at fault.
  static Result<Credentials> load(const ClusterConfig& config, TimePoint now);

  /// Looks at the files if it is time to; true when the TLS settings have changed.
  bool refresh(TimePoint now);
  /// The server did not take us, or we not it: the next refresh looks at the files at once.
  void suspect() { is_suspect_ = true; }

  const net::TlsClientSettings& tls() const { return tls_; }
  /// Value of the Authorization header; empty when there is no token.
  const std::string& authorization() const { return authorization_; }

 private:
  struct Stamp {
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t modified_ns = 0;
    bool operator==(const Stamp&) const = default;
  };

  explicit Credentials(const ClusterConfig& config) : config_(config) {}
  std::vector<Stamp> stamps() const;
  Result<net::TlsClientSettings> read_tls() const;
  Result<std::string> read_authorization() const;

  ClusterConfig config_;
  net::TlsClientSettings tls_;
  std::string authorization_;
  std::vector<Stamp> seen_;
  std::vector<Stamp> refused_;  ///< what could not be used, the last time
  TimePoint looked_at_{};
  bool is_suspect_ = false;
};

}  // namespace kantha::kube
