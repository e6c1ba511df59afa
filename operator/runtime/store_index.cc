#include "operator/runtime/store_index.h"

namespace kantha::runtime {

void StoreIndex::add(const kube::ObjectKey& object, const std::vector<std::string>& index_keys) {
  for (const std::string& key : index_keys) objects_[key].insert(object);
}

void StoreIndex::remove(const kube::ObjectKey& object, const std::vector<std::string>& index_keys) {
  for (const std::string& key : index_keys) {
    const auto found = objects_.find(key);
    if (found == objects_.end()) continue;
    found->second.erase(object);
    if (found->second.empty()) objects_.erase(found);
  }
}

const std::set<kube::ObjectKey>* StoreIndex::find(const std::string& index_key) const {
  const auto found = objects_.find(index_key);
  return found == objects_.end() ? nullptr : &found->second;
}

}  // namespace kantha::runtime
