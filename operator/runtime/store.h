#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource.h"
#include "operator/runtime/store_index.h"
#include "operator/runtime/watch_sink.h"

/// What the API server holds of one kind, as last seen. One writer (the watcher), many readers, one
/// executor; readers keep what they took alive through shared_ptr.
///
/// T is the kind as we need it and no more (a pod of 6 KB of JSON is 1 KB here): `T::meta` is its
/// kube::ObjectMeta, or its ObjectStamp. Objects that can't be decoded are counted and absent.
/// Guarantees: an object of the same uid and resourceVersion as the one held is no change; an
/// object with another uid is a delete and an add, two changes in that order.
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

  Store(kube::Resource resource, Decode decode, IndexKeys index_keys = {})
      : resource_(resource), decode_(std::move(decode)), index_keys_(std::move(index_keys)) {}

  /// nullptr: no such object.
  Ptr find(const kube::ObjectKey& key) const;
  /// Objects under an index key, ordered by name.
  std::vector<Ptr> indexed(const std::string& index_key) const;
  /// Every object, ordered by name.
  std::vector<Ptr> all() const;
  /// Calls with every object, in any order, without the cost of sorting ten thousand of them. The
  /// store must not change meanwhile.
  template <class F>
  void for_each(F&& visit) const {
    for (const Ptr& object : objects_) visit(object);
  }
  std::size_t size() const { return objects_.size(); }
  /// True once a whole list has been seen; before that absence means nothing.
  bool is_synced() const { return synced_; }
  /// True while the API server refuses to say what is there: the content is what it was then.
  bool is_stale() const { return stale_; }
  /// The newest resourceVersion seen, for the read-your-writes gate.
  const std::string& resource_version() const { return resource_version_; }
  /// Objects that could not be decoded, so far.
  std::size_t undecodable_count() const { return undecodable_count_; }
  /// What was wrong with the last of them, with its name if it had one; for the debug page.
  const std::string& last_undecodable() const { return last_undecodable_; }
  const kube::Resource& resource() const { return resource_; }
  /// Called for every change, in order, on the executor, after the store holds it.
  void on_change(Listener listener) { listeners_.push_back(std::move(listener)); }

  /// Changes what is kept of `object`, if it still is: to hold less of it, or what was found out
  /// about it. Nobody is told, and its index keys must stay.
  template <class F>
  void amend(const Ptr& object, F&& change);

  // The watcher's side.
  void apply(const Json& object);
  /// An empty uid erases whatever bears the name; another uid than the one held erases nothing.
  void erase(const kube::ObjectKey& key, const std::string& uid);
  /// Replaces everything at once: what is not in `objects` is gone. Marks the store synced.
  void replace_all(const std::vector<Json>& objects, std::string resource_version);
  void seen_version(std::string resource_version) {
    resource_version_ = std::move(resource_version);
  }
  void set_stale(bool is_stale) { stale_ = is_stale; }
  // replace_all in steps; see WatchSink.
  void begin_list() { staged_.clear(); }
  void stage(const Json& object);
  void unstage(const kube::ObjectKey& key) { erase_from(staged_, key); }
  void publish(std::string resource_version);

 private:
  /// By the key within the object, which is not stored twice.
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(const kube::ObjectKey& key) const {
      return std::hash<kube::ObjectKey>{}(key);
    }
    std::size_t operator()(const Ptr& object) const { return (*this)(object->meta.key); }
  };
  struct KeyEqual {
    using is_transparent = void;
    static const kube::ObjectKey& key_of(const kube::ObjectKey& key) { return key; }
    static const kube::ObjectKey& key_of(const Ptr& object) { return object->meta.key; }
    bool operator()(const auto& left, const auto& right) const {
      return key_of(left) == key_of(right);
    }
  };
  using Objects = std::unordered_set<Ptr, KeyHash, KeyEqual>;

  static void erase_from(Objects& objects, const kube::ObjectKey& key) {
    const auto found = objects.find(key);
    if (found != objects.end()) objects.erase(found);
  }
  static void replace_in(Objects& objects, const Ptr& object) {
    erase_from(objects, object->meta.key);
    objects.insert(object);
  }

  /// nullptr and counted when it can't be decoded.
  Ptr decode(const Json& object);
  void put(Ptr object);
  void drop(const Ptr& object);
  void tell(Ptr before, Ptr after) const;
  std::vector<std::string> index_keys_of(const T& object) const {
    return index_keys_ ? index_keys_(object) : std::vector<std::string>{};
  }
  static bool is_same(const T& left, const T& right) {
    return left.meta.uid == right.meta.uid && !left.meta.resource_version.empty() &&
           left.meta.resource_version == right.meta.resource_version;
  }

  kube::Resource resource_;
  Decode decode_;
  IndexKeys index_keys_;
  Objects objects_;
  Objects staged_;
  StoreIndex<T> index_;
  std::vector<Listener> listeners_;
  std::string resource_version_;
  std::string last_undecodable_;
  std::size_t undecodable_count_ = 0;
  bool synced_ = false;
  bool stale_ = false;
};

/// The store as its watcher sees it. The store must outlive the sink.
template <class T>
WatchSink sink_of(Store<T>& store) {
  return {
      .begin_list = [&store] { store.begin_list(); },
      .stage = [&store](const Json& object) { store.stage(object); },
      .unstage =
          [&store](const Json& object) {
            if (const auto meta = kube::object_meta_from_json(object)) store.unstage(meta->key);
          },
      .publish = [&store](std::string version) { store.publish(std::move(version)); },
      .apply = [&store](const Json& object) { store.apply(object); },
      .erase =
          [&store](const Json& object) {
            const auto meta = kube::object_meta_from_json(object);
            if (!meta) return;
            store.seen_version(meta->resource_version);
            store.erase(meta->key, meta->uid);
          },
      .seen_version = [&store](std::string version) { store.seen_version(std::move(version)); },
      .set_stale = [&store](bool is_stale) { store.set_stale(is_stale); },
  };
}

template <class T>
auto Store<T>::find(const kube::ObjectKey& key) const -> Ptr {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : *found;
}

template <class T>
auto Store<T>::indexed(const std::string& index_key) const -> std::vector<Ptr> {
  return index_.find(index_key);
}

template <class T>
auto Store<T>::all() const -> std::vector<Ptr> {
  std::vector<Ptr> out;
  out.assign(objects_.begin(), objects_.end());
  return StoreIndex<T>::sorted(std::move(out));
}

template <class T>
void Store<T>::apply(const Json& object) {
  if (std::string version = version_of(object); !version.empty()) {
    resource_version_ = std::move(version);
  }
  const Ptr after = decode(object);
  if (after == nullptr) {
    // What it was before is no longer true; what it is now nobody can tell.
    if (const auto meta = kube::object_meta_from_json(object)) erase(meta->key, "");
    return;
  }
  const Ptr before = find(after->meta.key);
  if (before != nullptr && is_same(*before, *after)) return;
  if (before != nullptr && before->meta.uid != after->meta.uid) {
    drop(before);
    tell(before, nullptr);
    put(after);
    return tell(nullptr, after);
  }
  if (before != nullptr) drop(before);
  put(after);
  tell(before, after);
}

template <class T>
template <class F>
void Store<T>::amend(const Ptr& object, F&& change) {
  if (find(object->meta.key) != object) return;
  T amended = *object;
  change(amended);
  drop(object);
  put(std::make_shared<const T>(std::move(amended)));
}

template <class T>
void Store<T>::erase(const kube::ObjectKey& key, const std::string& uid) {
  const Ptr before = find(key);
  if (before == nullptr || (!uid.empty() && before->meta.uid != uid)) return;
  drop(before);
  tell(before, nullptr);
}

template <class T>
void Store<T>::replace_all(const std::vector<Json>& objects, std::string resource_version) {
  begin_list();
  for (const Json& object : objects) stage(object);
  publish(std::move(resource_version));
}

template <class T>
void Store<T>::stage(const Json& object) {
  const Ptr decoded = decode(object);
  if (decoded != nullptr) {
    replace_in(staged_, decoded);
  } else if (const auto meta = kube::object_meta_from_json(object)) {
    erase_from(staged_, meta->key);
  }
}

template <class T>
void Store<T>::publish(std::string resource_version) {
  std::vector<Ptr> olds = all();
  Objects news = std::exchange(staged_, {});
  std::vector<StoreChange<T>> changes;
  std::vector<Ptr> arrived;
  for (const Ptr& before : olds) {
    const auto found = news.find(before->meta.key);
    const bool is_kept = found != news.end() && (*found)->meta.uid == before->meta.uid;
    if (!is_kept) changes.push_back({before, nullptr});
    if (is_kept && is_same(*before, **found)) replace_in(news, before);
  }
  arrived.assign(news.begin(), news.end());
  for (const Ptr& after : StoreIndex<T>::sorted(std::move(arrived))) {
    const Ptr before = find(after->meta.key);
    if (before == after) continue;
    const bool is_update = before != nullptr && before->meta.uid == after->meta.uid;
    changes.push_back({is_update ? before : nullptr, after});
  }
  for (const Ptr& before : olds) drop(before);
  for (const Ptr& after : news) put(after);
  resource_version_ = std::move(resource_version);
  synced_ = true;
  for (const StoreChange<T>& change : changes) tell(change.before, change.after);
}

template <class T>
auto Store<T>::decode(const Json& object) -> Ptr {
  // Decoders are of other rooms, and JSON libraries throw.
  std::string trouble;
  try {
    Result<T> decoded = decode_(object);
    if (decoded.ok()) return std::make_shared<const T>(std::move(decoded).value());
    trouble = decoded.error().to_string();
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  ++undecodable_count_;
  const auto meta = kube::object_meta_from_json(object);
  last_undecodable_ = (meta ? meta->key.to_string() : std::string("no name")) + ": " + trouble;
  return nullptr;
}

template <class T>
void Store<T>::put(Ptr object) {
  index_.add(object, index_keys_of(*object));
  objects_.insert(std::move(object));
}

template <class T>
void Store<T>::drop(const Ptr& object) {
  index_.remove(object, index_keys_of(*object));
  erase_from(objects_, object->meta.key);
}

template <class T>
void Store<T>::tell(Ptr before, Ptr after) const {
  const StoreChange<T> change{std::move(before), std::move(after)};
  for (const Listener& listener : listeners_) listener(change);
}

}  // namespace kantha::runtime
