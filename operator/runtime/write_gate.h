#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "operator/kube/resource.h"

/// Read your own writes: a key is not planned again before the stores have seen what its last pass
/// wrote (KEP-5647's idea). Pure; one executor.
namespace kantha::runtime {

class WriteGate {
 public:
  /// `owner`'s pass wrote an object of a kind; the store must reach this resourceVersion.
  /// An empty version with `is_delete` waits until the object is gone or marked deleted.
  struct Write {
    std::string_view plural;
    kube::ObjectKey object;
    std::string uid;
    std::string resource_version;
    bool is_delete = false;
  };

  void wrote(const kube::ObjectKey& owner, Write write, TimePoint now);
  /// The store of that kind now holds this version of the object (empty uid: it is gone).
  void seen(std::string_view plural, const kube::ObjectKey& object, const std::string& uid,
            const std::string& resource_version, bool is_deleting);
  /// Everything of the kind is at least this new (bookmark or list).
  void seen_all(std::string_view plural, const std::string& resource_version);
  /// True: gather may trust the stores for this owner. Gives up waiting for a write after
  /// `patience`, because a lost event must not stop a key for ever; counted.
  bool is_open(const kube::ObjectKey& owner, TimePoint now);
  std::size_t pending_count() const;
  std::size_t given_up_count() const { return given_up_count_; }
  void set_patience(Duration patience) { patience_ = patience; }

 private:
  struct Pending {
    Write write;
    TimePoint since;
  };
  std::unordered_map<kube::ObjectKey, std::vector<Pending>> pending_;
  Duration patience_ = std::chrono::seconds(60);
  std::size_t given_up_count_ = 0;
};

}  // namespace kantha::runtime
