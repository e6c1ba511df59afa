#include "tests/fake/api_server/object_store.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "base/rng.h"

namespace kantha::fake {
namespace {

std::vector<std::string> owner_uids(const Json* object) {
  std::vector<std::string> uids;
  if (object == nullptr) return uids;
  const Json& metadata = object->at("metadata");
  const auto owners = metadata.find("ownerReferences");
  if (owners == metadata.end() || !owners->is_array()) return uids;
  for (const Json& owner : *owners) uids.push_back(owner.value("uid", ""));
  return uids;
}

}  // namespace

ObjectStore::ObjectStore(const Clock& clock, std::uint64_t seed, HistoryLimits limits)
    : clock_(clock), seed_(seed), limits_(limits) {
  for (Kind& kind : built_in_kinds()) add_table(std::move(kind));
}

Table& ObjectStore::add_table(Kind kind) {
  auto table = std::make_unique<Table>();
  table->kind = std::move(kind);
  table->compacted = version_;
  tables_.push_back(std::move(table));
  return *tables_.back();
}

Table* ObjectStore::find_table(std::string_view group, std::string_view plural) {
  for (const auto& table : tables_) {
    const Kind& kind = table->kind;
    if (kind.is_installed && kind.plural == plural && kind.group == group) return table.get();
  }
  return nullptr;
}

Table* ObjectStore::find_table_of(const std::string& api_version, const std::string& kind) {
  for (const auto& table : tables_) {
    if (!table->kind.is_installed || table->kind.kind != kind) continue;
    if (table->kind.api_version() == api_version) return table.get();
  }
  return nullptr;
}

std::vector<Table*> ObjectStore::tables() {
  std::vector<Table*> all;
  for (const auto& table : tables_) {
    if (table->kind.is_installed) all.push_back(table.get());
  }
  return all;
}

std::string ObjectStore::path_of(const Json& object) {
  const Json& metadata = object.at("metadata");
  const std::string name_space = metadata.value("namespace", "");
  const std::string name = metadata.value("name", "");
  return name_space.empty() ? name : name_space + "/" + name;
}

const Stored* ObjectStore::find(const Table& table, const std::string& path) const {
  const auto found = table.objects.find(path);
  return found == table.objects.end() ? nullptr : &found->second;
}

std::optional<std::pair<Table*, std::string>> ObjectStore::find_uid(const std::string& uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::pair<Table*, std::string>> ObjectStore::dependents_of(const std::string& uid) {
  const auto found = dependents_.find(uid);
  if (found == dependents_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void ObjectStore::index(Table& table, const std::string& path, const Json* before,
                        const Json* after) {
  const auto old_owners = owner_uids(before);
  const auto new_owners = owner_uids(after);
  if (before != nullptr && after == nullptr) by_uid_.erase(before->at("metadata").at("uid"));
  if (after != nullptr) by_uid_[after->at("metadata").at("uid")] = {&table, path};
  if (old_owners == new_owners) return;
  for (const std::string& uid : old_owners) {
    const auto found = dependents_.find(uid);
    if (found == dependents_.end()) continue;
    found->second.erase({&table, path});
    if (found->second.empty()) dependents_.erase(found);
  }
  for (const std::string& uid : new_owners) dependents_[uid].insert({&table, path});
}

void ObjectStore::publish(Table& table, Change change, WriteRecord record) {
  index(table, change.path, change.before.get(), change.after.get());
  record.version = change.version;
  record.time = change.time;
  record.plural = table.kind.plural;
  record.path = change.path;
  record.before = change.before;
  record.after = change.after;
  if (keeps_writes_) writes_.push_back(record);
  table.history.push_back(change);
  if (table.history.size() > limits_.count) {
    table.compacted = table.history.front().version;
    table.history.pop_front();
  }
  for (const Listener& listener : listeners_) listener(table, change, record);
}

ObjectPtr ObjectStore::put(Table& table, Json object, ManagerEntries managers, WriteRecord record) {
  const std::string path = path_of(object);
  Change change{.version = ++version_, .path = path, .time = clock_.now()};
  Json& metadata = object["metadata"];
  metadata["resourceVersion"] = std::to_string(change.version);
  metadata.erase("managedFields");
  if (renders_managers_) metadata["managedFields"] = managed_fields_json(table.kind, managers);
  Stored& stored = table.objects[path];
  change.before = stored.json;
  stored.json = std::make_shared<const Json>(std::move(object));
  stored.managers = std::move(managers);
  change.after = change.shown = stored.json;
  const ObjectPtr result = stored.json;
  publish(table, std::move(change), std::move(record));
  return result;
}

void ObjectStore::erase(Table& table, const std::string& path, WriteRecord record) {
  const auto found = table.objects.find(path);
  if (found == table.objects.end()) return;
  Change change{.version = ++version_, .path = path, .time = clock_.now()};
  change.before = found->second.json;
  Json last = *change.before;
  last["metadata"]["resourceVersion"] = std::to_string(change.version);
  change.shown = std::make_shared<const Json>(std::move(last));
  table.objects.erase(found);
  publish(table, std::move(change), std::move(record));
}

std::optional<std::map<std::string, ObjectPtr>> ObjectStore::snapshot(const Table& table,
                                                                      std::int64_t version) {
  if (version < table.compacted) return std::nullopt;
  std::map<std::string, ObjectPtr> objects;
  for (const auto& [path, stored] : table.objects) objects.emplace(path, stored.json);
  for (auto change = table.history.rbegin(); change != table.history.rend(); ++change) {
    if (change->version <= version) break;
    if (change->before == nullptr) {
      objects.erase(change->path);
    } else {
      objects[change->path] = change->before;
    }
  }
  return objects;
}

void ObjectStore::compact() {
  for (const auto& table : tables_) {
    auto& history = table->history;
    while (!history.empty() && clock_.now() - history.front().time > limits_.age) {
      table->compacted = history.front().version;
      history.pop_front();
    }
  }
}

void ObjectStore::compact_all() {
  for (const auto& table : tables_) {
    table->history.clear();
    table->compacted = version_;
  }
}

std::string ObjectStore::new_uid() {
  const std::uint64_t high = random_bits(seed_, 2 * uid_count_);
  const std::uint64_t low = random_bits(seed_, 2 * uid_count_ + 1);
  ++uid_count_;
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | (low >> 50), low & 0xffffffffffff);
}

std::string ObjectStore::time_text(Duration offset) const {
  const auto now = clock_.wall_now() + std::chrono::duration_cast<WallTime::duration>(offset);
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace kantha::fake
