#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "operator/kube/resource.h"

/// Read your own writes: a key is not planned again before the stores have seen what its last pass
/// wrote (KEP-5647's idea). Pure; one executor.
///
/// The event of a write often comes before the write's own answer, so the gate remembers how far
/// each kind was seen, and which objects were lately seen going: what is known already when
/// wrote() is called is not waited for.
/// Assumption: one watcher feeds a kind, so its versions come in order.
namespace kantha::runtime {

class WriteGate {
 public:
  /// `owner`'s pass wrote an object of a kind; the store must reach this resourceVersion.
  /// An empty version with `is_delete` waits until the object is gone or marked deleted.
  struct Write {
    std::string_view plural = {};
    kube::ObjectKey object = {};
    std::string uid = {};
    std::string resource_version = {};
    bool is_delete = false;
  };

  void wrote(const kube::ObjectKey& owner, Write write, TimePoint now);
  /// The store of that kind now holds this version of the object (empty uid: it is gone).
  void seen(std::string_view plural, const kube::ObjectKey& object, const std::string& uid,
            const std::string& resource_version, bool is_deleting);
  /// An event of this version went by, whatever became of it: versions of a kind come in order, so
  /// a write that is not newer will not be seen any better (an object that has left the watch's
  /// selector, one that can't be decoded). Opens at the next is_open.
  void passed(std::string_view plural, const std::string& resource_version) {
    note_newest(plural, resource_version);
  }
  /// Everything of the kind is at least this new (bookmark or list).
  void seen_all(std::string_view plural, const std::string& resource_version);
  /// True: gather may trust the stores for this owner. Gives up waiting for a write after
  /// `patience`, because a lost event must not stop a key for ever; counted.
  bool is_open(const kube::ObjectKey& owner, TimePoint now);
  /// Writes that are waited for.
  std::size_t pending_count() const { return pending_count_; }
  std::size_t given_up_count() const { return given_up_count_; }
  void set_patience(Duration patience) { patience_ = patience; }

 private:
  struct Pending {
    Write write;
    TimePoint since;
  };
  /// What was seen of an object, from the gate's side.
  struct Sight {
    std::string_view plural;
    const kube::ObjectKey& object;
    const std::string& uid;
    const std::string& resource_version;
    bool is_deleting;
  };
  /// Names of objects and uids that were seen going, the newest few thousand.
  class Departed {
   public:
    void add(std::string name);
    void remove(const std::string& name) { names_.erase(name); }
    bool contains(const std::string& name) const { return names_.contains(name); }

   private:
    std::unordered_set<std::string> names_;
    std::deque<std::string> order_;
  };

  bool is_known(const Write& write) const;
  static bool settles(const Sight& sight, const Write& write);
  void note_newest(std::string_view plural, const std::string& resource_version);
  /// Drops what `is_settled` says of one owner; gives how many.
  template <class F>
  std::size_t settle(const kube::ObjectKey& owner, F is_settled);

  std::unordered_map<kube::ObjectKey, std::vector<Pending>> pending_;         ///< by owner
  std::unordered_map<kube::ObjectKey, std::vector<kube::ObjectKey>> owners_;  ///< by object
  std::unordered_map<std::string_view, std::string> newest_;  ///< version, by plural
  Departed departed_;
  std::size_t pending_count_ = 0;
  Duration patience_ = std::chrono::seconds(60);
  std::size_t given_up_count_ = 0;
};

}  // namespace kantha::runtime
