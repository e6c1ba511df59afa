#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "operator/kube/resource.h"

/// Which objects stand under which extra key ("by owner uid"). Nearly every key has one object or
/// two, and there are a hundred thousand of them, so that an entry is one node and no container.
/// T as in Store. Pure; one executor.
namespace kantha::runtime {

template <class T>
class StoreIndex {
 public:
  using Ptr = std::shared_ptr<const T>;

  void add(const Ptr& object, const std::vector<std::string>& index_keys) {
    for (const std::string& key : index_keys) entries_.emplace(key, object);
  }

  /// `index_keys` are those that it was added with.
  void remove(const Ptr& object, const std::vector<std::string>& index_keys) {
    for (const std::string& key : index_keys) {
      const auto [first, last] = entries_.equal_range(key);
      const auto found = std::find_if(first, last, [&](const auto& entry) {
        return entry.second->meta.key == object->meta.key;
      });
      if (found != last) entries_.erase(found);
    }
  }

  /// Objects under one key, ordered by namespace and name.
  std::vector<Ptr> find(const std::string& index_key) const {
    std::vector<Ptr> out;
    const auto [first, last] = entries_.equal_range(index_key);
    for (auto entry = first; entry != last; ++entry) out.push_back(entry->second);
    return sorted(std::move(out));
  }

  static std::vector<Ptr> sorted(std::vector<Ptr> objects) {
    std::ranges::sort(objects, [](const Ptr& left, const Ptr& right) {
      return left->meta.key < right->meta.key;
    });
    return objects;
  }

 private:
  std::unordered_multimap<std::string, Ptr> entries_;
};

}  // namespace kantha::runtime
