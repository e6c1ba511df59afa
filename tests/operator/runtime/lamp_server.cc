#include "tests/operator/runtime/lamp_server.h"

#include <algorithm>
#include <utility>

namespace kantha::runtime {
namespace {

using kube::ApiFault;
using kube::WatchEventType;

std::string text_of(const Json& lamp) {
  const Json& meta = lamp.at("metadata");
  return meta.at("name").get<std::string>() + "/" + meta.at("uid").get<std::string>() + "@" +
         meta.at("resourceVersion").get<std::string>() + "=" + lamp.at("color").get<std::string>() +
         " ";
}

}  // namespace

Error fault_error(ApiFault fault) {
  Error error = {Code::kInternal, std::string(kube::fault_name(fault))};
  error.reason = kube::fault_name(fault);
  if (fault == ApiFault::kUnreachable) error.code = Code::kDataLoss;
  return error;
}

std::string state_of(const Store<Lamp>& store) {
  std::string out;
  for (const auto& lamp : store.all()) {
    out += lamp->meta.key.name + "/" + lamp->meta.uid + "@" + lamp->meta.resource_version + "=" +
           lamp->color + " ";
  }
  return out;
}

void LampServer::remember() {
  std::string state;
  std::vector<Json> content;
  for (const auto& entry : lamps_) {
    if (entry.second.contains("color")) state += text_of(entry.second);
    content.push_back(entry.second);
  }
  states_[version_] = std::move(state);
  contents_[version_] = std::move(content);
}

void LampServer::record(WatchEventType type, Json object) {
  past_.push_back({version_, {type, std::move(object)}});
  remember();
}

void LampServer::put(const std::string& name, const std::string& color) {
  const auto known = lamps_.find(name);
  const std::string uid = known == lamps_.end()
                              ? "u" + std::to_string(++uids_)
                              : known->second["metadata"]["uid"].get<std::string>();
  Json object = lamp(name, uid, ++version_, color);
  if (color.empty()) object.erase("color");
  const bool is_new = known == lamps_.end();
  lamps_[name] = object;
  record(is_new ? WatchEventType::kAdded : WatchEventType::kModified, std::move(object));
}

void LampServer::remove(const std::string& name) {
  const auto known = lamps_.find(name);
  if (known == lamps_.end()) return;
  Json object = known->second;
  object["metadata"]["resourceVersion"] = std::to_string(++version_);
  lamps_.erase(known);
  record(WatchEventType::kDeleted, std::move(object));
}

kube::ObjectPage LampServer::page_of(std::vector<Json> objects, int version, std::int64_t limit) {
  kube::ObjectPage page;
  page.resource_version = std::to_string(version);
  const auto count =
      limit <= 0 ? objects.size() : std::min(objects.size(), static_cast<std::size_t>(limit));
  const auto cut = objects.begin() + static_cast<std::ptrdiff_t>(count);
  page.items.assign(objects.begin(), cut);
  if (cut == objects.end()) return page;
  page.continue_token = "t" + std::to_string(++token_count_);
  tokens_[page.continue_token] = {{cut, objects.end()}, version};
  return page;
}

Result<kube::ObjectPage> LampServer::list(const WatchDeed& deed) {
  if (!deed.continue_token.empty()) {
    const auto token = tokens_.find(deed.continue_token);
    if (token == tokens_.end() || token->second.version < compacted_) {
      return fault_error(ApiFault::kExpired);
    }
    return page_of(token->second.rest, token->second.version, deed.limit);
  }
  if (deed.resource_version == "0") {
    // Its cache may be a little behind.
    const int version = std::max({1, version_ - 3, compacted_});
    return page_of(contents_.at(version), version, 0);
  }
  if (!deed.resource_version.empty()) {
    const int wanted = std::stoi(deed.resource_version);
    if (wanted > version_) return fault_error(ApiFault::kFutureVersion);
  }
  return page_of(contents_.at(version_), version_, deed.limit);
}

Status LampServer::open(const WatchDeed& deed) {
  initial_.clear();
  owes_bookmark_ = false;
  if (deed.send_initial_events) {
    if (!knows_watch_list_) return fault_error(ApiFault::kInvalid);
    sent_version_ = version_;
    initial_.push_back({WatchEventType::kBookmark, bookmark(/*is_end=*/true)});
    for (const Json& object : contents_.at(version_)) {
      initial_.push_back({WatchEventType::kAdded, object});
    }
    return ok_status();
  }
  const int from = std::stoi(deed.resource_version);
  if (from < compacted_) return fault_error(ApiFault::kExpired);
  if (from > version_) return fault_error(ApiFault::kFutureVersion);
  sent_version_ = from;
  return ok_status();
}

std::optional<kube::WatchEvent> LampServer::next_event() {
  if (!initial_.empty()) {
    kube::WatchEvent event = std::move(initial_.back());
    initial_.pop_back();
    return event;
  }
  const auto next =
      std::ranges::find_if(past_, [&](const Past& past) { return past.version > sent_version_; });
  if (next != past_.end()) {
    sent_version_ = next->version;
    return next->event;
  }
  if (!std::exchange(owes_bookmark_, false)) return std::nullopt;
  return kube::WatchEvent{WatchEventType::kBookmark, bookmark(/*is_end=*/false)};
}

Json LampServer::bookmark(bool is_end) const {
  Json meta = {{"resourceVersion", std::to_string(sent_version_)}};
  if (is_end) meta["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  return {{"metadata", std::move(meta)}};
}

}  // namespace kantha::runtime
