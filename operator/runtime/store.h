#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource.h"

/// What the API server holds of one kind, as last seen. One writer (the watcher), many readers, one
/// executor; readers keep what they took alive through shared_ptr.
///
/// T is the kind as we need it and no more (a pod of 6 KB of JSON is 1 KB here): `T::meta` is its
/// kube::ObjectMeta. Objects that can't be decoded are counted and absent.
namespace kantha::runtime {

/// One difference between what the store held and what it holds.
template <class T>
struct StoreChange {
  std::shared_ptr<const T> before;  ///< nullptr: new
  std::shared_ptr<const T> after;   ///< nullptr: gone
};

template <class T>
class Store {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Decode = std::function<Result<T>(const Json&)>;
  using Listener = std::function<void(const StoreChange<T>&)>;
  /// Extra keys under which an object is found again ("by owner uid", "by ModelServing").
  using IndexKeys = std::function<std::vector<std::string>(const T&)>;

  Store(kube::Resource resource, Decode decode, IndexKeys index_keys = {});

  Ptr find(const kube::ObjectKey& key) const;
  /// Objects under an index key, ordered by name.
  std::vector<Ptr> indexed(const std::string& index_key) const;
  std::vector<Ptr> all() const;
  std::size_t size() const { return objects_.size(); }
  /// True once a whole list has been seen; before that absence means nothing.
  bool is_synced() const { return synced_; }
  /// The newest resourceVersion seen, for the read-your-writes gate.
  const std::string& resource_version() const { return resource_version_; }
  std::size_t undecodable_count() const { return undecodable_count_; }
  const kube::Resource& resource() const { return resource_; }
  /// Called for every change, in order, on the executor, after the store holds it.
  void on_change(Listener listener) { listeners_.push_back(std::move(listener)); }

  // The watcher's side.
  void apply(const Json& object);
  void erase(const kube::ObjectKey& key, const std::string& uid);
  /// Replaces everything at once: what is not in `objects` is gone. Marks the store synced.
  void replace_all(const std::vector<Json>& objects, std::string resource_version);
  void seen_version(std::string resource_version) {
    resource_version_ = std::move(resource_version);
  }

 private:
  kube::Resource resource_;
  Decode decode_;
  IndexKeys index_keys_;
  std::unordered_map<kube::ObjectKey, Ptr> objects_;
  std::unordered_map<std::string, std::vector<kube::ObjectKey>> index_;
  std::vector<Listener> listeners_;
  std::string resource_version_;
  std::size_t undecodable_count_ = 0;
  bool synced_ = false;
};

}  // namespace kantha::runtime
