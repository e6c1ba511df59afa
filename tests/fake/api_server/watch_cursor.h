#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tests/fake/api_server/api_request.h"
#include "tests/fake/api_server/object_store.h"

/// One open watch of the fake API server, as a position in a kind's history. One thread.
namespace kantha::fake {

/// How one client sees the server; shared by all its requests, changed while they run.
struct ReadView {
  /// Lists from the cache and watches show nothing newer than this version (an API server that
  /// lags); quorum reads are fresh.
  std::optional<std::int64_t> frozen_at;
  /// True: this client is never told of the change.
  std::function<bool(const Kind&, const Change&)> loses;
};
using ReadViewPtr = std::shared_ptr<const ReadView>;

struct WatchPlan {
  std::int64_t from_version = 0;
  std::vector<ObjectPtr> initial = {};  ///< told as ADDED first
  bool tells_initial_end = false;
  bool sends_bookmarks = false;
  Duration bookmark_interval = std::chrono::seconds(60);
  TimePoint deadline = {};  ///< the server ends the watch then
};

class WatchCursor {
 public:
  WatchCursor(ObjectStore& store, Table& table, ApiRequest request, ReadViewPtr view,
              WatchPlan plan);

  /// What there is to say now, as lines; about `bytes_max` at most.
  std::string take(std::size_t bytes_max = 1u << 20);
  /// Nothing will come any more.
  bool is_over() const { return is_over_; }
  /// When take() may give something without a change of the store.
  TimePoint next_time() const;

 private:
  bool concerns(const Json& object) const;
  void tell_initial(std::string& text);
  void tell_changes(std::string& text, std::size_t bytes_max);
  std::string frame(const Change& change) const;
  std::string bookmark(bool initial_end) const;
  std::int64_t visible_version() const;

  ObjectStore& store_;
  Table& table_;
  ApiRequest request_;
  LabelSelector selector_;
  ReadViewPtr view_;
  WatchPlan plan_;
  std::int64_t version_;
  TimePoint next_bookmark_;
  bool is_over_ = false;
};

}  // namespace kantha::fake
