#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

/// At which port of the activators an object's requests come. Plain data; one thread.
namespace kantha::cluster {

/// Ports follow from the object's uid, so that another operator comes to the same ones; where two
/// meet, the later one moves on to the next that is free, and stays there as long as it is known.
class ActivatorPorts {
 public:
  static constexpr std::int64_t kFirst = 10'000;
  static constexpr std::int64_t kCount = 20'000;  ///< below the ports that kernels choose

  /// The object's port; 0 when all are taken.
  std::int64_t port_of(const std::string& uid);
  /// Forgets the others.
  void keep_only(const std::set<std::string>& uids);

 private:
  std::map<std::string, std::int64_t> by_uid_;
  std::set<std::int64_t> taken_;
};

}  // namespace kantha::cluster
