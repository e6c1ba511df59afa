#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "operator/kube/resource.h"

/// Which objects stand under which extra key ("by owner uid"). Pure; one executor.
namespace kantha::runtime {

class StoreIndex {
 public:
  void add(const kube::ObjectKey& object, const std::vector<std::string>& index_keys);
  /// `index_keys` are those that it was added with.
  void remove(const kube::ObjectKey& object, const std::vector<std::string>& index_keys);
  /// Objects under one key, ordered by namespace and name; nullptr: none.
  const std::set<kube::ObjectKey>* find(const std::string& index_key) const;
  void clear() { objects_.clear(); }

 private:
  std::unordered_map<std::string, std::set<kube::ObjectKey>> objects_;
};

}  // namespace kantha::runtime
