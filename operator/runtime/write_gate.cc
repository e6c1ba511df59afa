#include "operator/runtime/write_gate.h"

#include <algorithm>
#include <utility>

#include "operator/kube/object_meta.h"

namespace kantha::runtime {
namespace {

bool reaches(const std::string& seen, const std::string& wanted) {
  const auto order = kube::compare_versions(seen, wanted);
  return order == std::partial_ordering::greater || order == std::partial_ordering::equivalent;
}

std::string name_of(std::string_view plural, const kube::ObjectKey& object) {
  return std::string(plural) + " " + object.to_string();
}

}  // namespace

void WriteGate::Departed::add(std::string name) {
  constexpr std::size_t kNamesMax = 4096;
  if (!names_.insert(name).second) return;
  order_.push_back(std::move(name));
  if (order_.size() <= kNamesMax) return;
  names_.erase(order_.front());
  order_.pop_front();
}

void WriteGate::wrote(const kube::ObjectKey& owner, Write write, TimePoint now) {
  if (is_known(write)) return;
  auto& owners = owners_[write.object];
  if (std::ranges::find(owners, owner) == owners.end()) owners.push_back(owner);
  auto& writes = pending_[owner];
  // The newest write of an object stands for the older ones: versions only rise.
  const auto older = std::ranges::find_if(writes, [&](const Pending& pending) {
    return pending.write.object == write.object && pending.write.plural == write.plural &&
           pending.write.is_delete == write.is_delete;
  });
  if (older != writes.end()) {
    *older = {std::move(write), now};
    return;
  }
  writes.push_back({std::move(write), now});
  ++pending_count_;
}

/// The stores saw it before its answer came.
bool WriteGate::is_known(const Write& write) const {
  if (!write.resource_version.empty()) {
    const auto newest = newest_.find(write.plural);
    return newest != newest_.end() && reaches(newest->second, write.resource_version);
  }
  return write.is_delete && ((!write.uid.empty() && departed_.contains(write.uid)) ||
                             departed_.contains(name_of(write.plural, write.object)));
}

bool WriteGate::settles(const Sight& sight, const Write& write) {
  if (write.plural != sight.plural || write.object != sight.object) return false;
  if (!write.resource_version.empty()) {
    // What is gone may be an older object of the name: passed() says when nothing can come any
    // more.
    if (sight.uid.empty()) return false;
    return reaches(sight.resource_version, write.resource_version);
  }
  if (!write.is_delete || sight.uid.empty()) return true;
  return sight.is_deleting || sight.uid != write.uid;
}

void WriteGate::seen(std::string_view plural, const kube::ObjectKey& object, const std::string& uid,
                     const std::string& resource_version, bool is_deleting) {
  note_newest(plural, resource_version);
  if (uid.empty()) {
    departed_.add(name_of(plural, object));
  } else {
    departed_.remove(name_of(plural, object));
    if (is_deleting) departed_.add(uid);
  }
  const auto found = owners_.find(object);
  if (found == owners_.end()) return;
  const Sight sight{plural, object, uid, resource_version, is_deleting};
  // A copy: settling drops entries of owners_.
  const std::vector<kube::ObjectKey> owners = found->second;
  for (const kube::ObjectKey& owner : owners) {
    settle(owner, [&](const Pending& pending) { return settles(sight, pending.write); });
  }
}

void WriteGate::seen_all(std::string_view plural, const std::string& resource_version) {
  note_newest(plural, resource_version);
  std::vector<kube::ObjectKey> owners;
  owners.reserve(pending_.size());
  for (const auto& entry : pending_) owners.push_back(entry.first);
  for (const kube::ObjectKey& owner : owners) {
    settle(owner, [&](const Pending& pending) {
      return pending.write.plural == plural && !pending.write.resource_version.empty() &&
             reaches(resource_version, pending.write.resource_version);
    });
  }
}

bool WriteGate::is_open(const kube::ObjectKey& owner, TimePoint now) {
  if (!pending_.contains(owner)) return true;
  settle(owner, [this](const Pending& pending) { return is_known(pending.write); });
  given_up_count_ +=
      settle(owner, [&](const Pending& pending) { return now - pending.since >= patience_; });
  return !pending_.contains(owner);
}

void WriteGate::note_newest(std::string_view plural, const std::string& resource_version) {
  if (resource_version.empty()) return;
  std::string& newest = newest_[plural];
  if (newest.empty() || !reaches(newest, resource_version)) newest = resource_version;
}

template <class F>
std::size_t WriteGate::settle(const kube::ObjectKey& owner, F is_settled) {
  const auto found = pending_.find(owner);
  if (found == pending_.end()) return 0;
  std::vector<Pending>& writes = found->second;
  const auto settled = std::partition(writes.begin(), writes.end(),
                                      [&](const Pending& pending) { return !is_settled(pending); });
  const auto count = static_cast<std::size_t>(writes.end() - settled);
  std::vector<Pending> gone(std::make_move_iterator(settled),
                            std::make_move_iterator(writes.end()));
  writes.erase(settled, writes.end());
  pending_count_ -= count;
  for (const Pending& pending : gone) {
    const bool is_last = std::ranges::none_of(
        writes, [&](const Pending& other) { return other.write.object == pending.write.object; });
    const auto entry = owners_.find(pending.write.object);
    if (!is_last || entry == owners_.end()) continue;
    std::erase(entry->second, owner);
    if (entry->second.empty()) owners_.erase(entry);
  }
  if (writes.empty()) pending_.erase(found);
  return count;
}

}  // namespace kantha::runtime
