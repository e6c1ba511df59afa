#include "tests/fake/api_server/watch_cursor.h"

#include <algorithm>

#include "tests/fake/api_server/api_refusal.h"

namespace kantha::fake {

WatchCursor::WatchCursor(ObjectStore& store, Table& table, ApiRequest request, ReadViewPtr view,
                         WatchPlan plan)
    : store_(store),
      table_(table),
      request_(std::move(request)),
      selector_(request_.option("labelSelector")),
      view_(std::move(view)),
      plan_(std::move(plan)),
      version_(plan_.from_version),
      next_bookmark_(store.clock().now() + plan_.bookmark_interval) {}

std::int64_t WatchCursor::visible_version() const {
  const std::int64_t now = store_.version();
  return view_ != nullptr && view_->frozen_at ? std::min(now, *view_->frozen_at) : now;
}

bool WatchCursor::concerns(const Json& object) const {
  const std::string& name_space = request_.name_space;
  if (!name_space.empty() && object.at("metadata").value("namespace", "") != name_space) {
    return false;
  }
  return selector_.matches(object) &&
         matches_field_selector(request_.option("fieldSelector"), object);
}

std::string WatchCursor::bookmark(bool initial_end) const {
  Json metadata = {{"resourceVersion", std::to_string(version_)}, {"creationTimestamp", nullptr}};
  if (initial_end) metadata["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  const Json object = {{"kind", table_.kind.kind},
                       {"apiVersion", table_.kind.api_version()},
                       {"metadata", metadata}};
  return dump_json(Json{{"type", "BOOKMARK"}, {"object", object}}) + "\n";
}

std::string WatchCursor::frame(const Change& change) const {
  const bool was = change.before != nullptr && concerns(*change.before);
  const bool is = change.after != nullptr && concerns(*change.after);
  if (!was && !is) return "";
  if (view_ != nullptr && view_->loses && view_->loses(table_.kind, change)) return "";
  if (change.text == nullptr) {
    change.text = std::make_shared<const std::string>(dump_json(*change.shown));
  }
  const char* type = !is ? "DELETED" : was ? "MODIFIED" : "ADDED";
  return std::string(R"({"type":")") + type + R"(","object":)" + *change.text + "}\n";
}

void WatchCursor::tell_initial(std::string& text) {
  for (const ObjectPtr& object : plan_.initial) {
    text += R"({"type":"ADDED","object":)" + dump_json(*object) + "}\n";
  }
  plan_.initial.clear();
  if (std::exchange(plan_.tells_initial_end, false)) text += bookmark(true);
}

void WatchCursor::tell_changes(std::string& text, std::size_t bytes_max) {
  const std::int64_t visible = visible_version();
  auto change = std::upper_bound(
      table_.history.begin(), table_.history.end(), version_,
      [](std::int64_t version, const Change& entry) { return version < entry.version; });
  for (; change != table_.history.end() && text.size() < bytes_max; ++change) {
    if (change->version > visible) break;
    version_ = change->version;
    text += frame(*change);
  }
}

std::string WatchCursor::take(std::size_t bytes_max) {
  if (is_over_) return "";
  std::string text;
  tell_initial(text);
  if (!table_.kind.is_installed) {
    is_over_ = true;
    return text;
  }
  if (version_ < table_.compacted) {
    const Refusal refusal = expired("too old resource version: " + std::to_string(version_) + " (" +
                                    std::to_string(table_.compacted) + ")");
    text += dump_json(Json{{"type", "ERROR"}, {"object", status_object(refusal)}}) + "\n";
    is_over_ = true;
    return text;
  }
  tell_changes(text, bytes_max);
  const TimePoint now = store_.clock().now();
  const bool is_late = now >= plan_.deadline;
  if (plan_.sends_bookmarks && text.size() < bytes_max && (is_late || now >= next_bookmark_)) {
    version_ = std::max(version_, visible_version());
    text += bookmark(false);
    next_bookmark_ = now + plan_.bookmark_interval;
  }
  if (is_late) is_over_ = true;
  return text;
}

TimePoint WatchCursor::next_time() const {
  return plan_.sends_bookmarks ? std::min(next_bookmark_, plan_.deadline) : plan_.deadline;
}

}  // namespace kantha::fake
