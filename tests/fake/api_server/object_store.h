#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "tests/fake/api_server/field_managers.h"
#include "tests/fake/api_server/kind.h"

/// The objects of the fake API server, their one counter of versions, and what happened to them.
/// Knows no HTTP and no rules. One thread.
namespace kantha::fake {

using ObjectPtr = std::shared_ptr<const Json>;

struct Stored {
  ObjectPtr json;
  ManagerEntries managers;
};

/// One step of one object, as watches tell it.
struct Change {
  std::int64_t version = 0;
  std::string path = {};  ///< "namespace/name", or "name"
  ObjectPtr before = {};  ///< nullptr: created
  ObjectPtr after = {};   ///< nullptr: deleted
  ObjectPtr shown = {};   ///< what a watch shows: after, or the last state under the new version
  TimePoint time = {};
  /// `shown` as text, made once for all watchers.
  mutable std::shared_ptr<const std::string> text = {};
};

struct Table {
  Kind kind;
  std::map<std::string, Stored> objects;  ///< by path, in the order of a list
  std::deque<Change> history;
  std::int64_t compacted = 0;  ///< versions up to this are no longer in history
};

/// One write that happened, for checkers.
struct WriteRecord {
  std::int64_t version = 0;
  TimePoint time = {};
  std::string manager = {};
  std::string verb =
      {};  ///< create update patch apply delete, "collect" (garbage collector), "expire"
  std::string plural = {};
  std::string path = {};
  std::string subresource = {};
  ObjectPtr before = {};
  ObjectPtr after = {};
};

struct HistoryLimits {
  Duration age = std::chrono::minutes(5);
  std::size_t count = 200'000;  ///< changes of one kind
};

class ObjectStore {
 public:
  using Listener = std::function<void(const Table&, const Change&, const WriteRecord&)>;

  ObjectStore(const Clock& clock, std::uint64_t seed, HistoryLimits limits);

  Table& add_table(Kind kind);
  /// The table of a kind by group and plural; nullptr when there is none (or it was uninstalled).
  Table* find_table(std::string_view group, std::string_view plural);
  /// The table that an apiVersion and kind name.
  Table* find_table_of(const std::string& api_version, const std::string& kind);
  std::vector<Table*> tables();

  static std::string path_of(const Json& object);
  const Stored* find(const Table& table, const std::string& path) const;
  /// Where the object with this uid is.
  std::optional<std::pair<Table*, std::string>> find_uid(const std::string& uid);
  /// Objects that name this uid as an owner.
  std::vector<std::pair<Table*, std::string>> dependents_of(const std::string& uid);

  /// Stores an object as the next version; gives it as stored.
  ObjectPtr put(Table& table, Json object, ManagerEntries managers, WriteRecord record);
  void erase(Table& table, const std::string& path, WriteRecord record);

  std::int64_t version() const { return version_; }
  /// The objects of a kind as they were at a version; nullopt when that is no longer known.
  std::optional<std::map<std::string, ObjectPtr>> snapshot(const Table& table,
                                                           std::int64_t version);
  /// Drops what is older than the window.
  void compact();
  /// Drops all history up to now, as an etcd compaction does.
  void compact_all();
  std::string new_uid();
  std::string time_text(Duration offset = {}) const;

  const std::vector<WriteRecord>& writes() const { return writes_; }
  void clear_writes() { writes_.clear(); }
  void keep_writes(bool keep) { keeps_writes_ = keep; }
  void render_managers(bool render) { renders_managers_ = render; }
  void on_change(Listener listener) { listeners_.push_back(std::move(listener)); }
  const Clock& clock() const { return clock_; }

 private:
  void index(Table& table, const std::string& path, const Json* before, const Json* after);
  void publish(Table& table, Change change, WriteRecord record);

  const Clock& clock_;
  std::uint64_t seed_;
  HistoryLimits limits_;
  std::int64_t version_ = 1;
  std::uint64_t uid_count_ = 0;
  bool keeps_writes_ = true;
  bool renders_managers_ = true;
  std::vector<std::unique_ptr<Table>> tables_;
  std::unordered_map<std::string, std::pair<Table*, std::string>> by_uid_;
  std::unordered_map<std::string, std::set<std::pair<Table*, std::string>>> dependents_;
  std::vector<WriteRecord> writes_;
  std::vector<Listener> listeners_;
};

}  // namespace kantha::fake
