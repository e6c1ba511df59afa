#include "operator/cluster/activator_feed.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/json_text.h"
#include "base/log.h"
#include "operator/cluster/admin_secret.h"
#include "operator/serving/children.h"

namespace kantha::cluster {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(500);
constexpr Duration kRestEvery = std::chrono::seconds(2);  ///< while nobody may sleep
constexpr Duration kListEvery = std::chrono::seconds(2);
constexpr Duration kHeardFor = std::chrono::seconds(5);
/// As soon as a kubelet brings a new one to the pods.
constexpr Duration kKeysFor = std::chrono::seconds(60);
constexpr Duration kKeysAgain = std::chrono::seconds(5);  ///< that were not there

bool may_sleep(const serving::ClusterServing& object) {
  const auto& scaling = object.serving.spec.autoscaling;
  return scaling && scaling->may_sleep() && object.problems.empty() && !object.is_deleting();
}

kube::ObjectKey keys_secret(const serving::ClusterServing& object) {
  return {object.meta.key.name_space, object.serving.spec.gateway.auth_secret};
}

}  // namespace

ActivatorFeed::ActivatorFeed(boost::asio::any_io_executor executor, const Clock& clock,
                             ActivatorDoor& door, WorldStores& stores, GuardedClient& client,
                             Trigger trigger)
    : executor_(executor),
      clock_(clock),
      door_(door),
      stores_(stores),
      client_(client),
      trigger_(std::move(trigger)),
      questions_(executor, "activators"),
      wake_(executor) {}

bool ActivatorFeed::is_heard(const Known& known) const {
  return known.state && clock_.now() - known.heard <= kHeardFor;
}

const noded::LaneState* ActivatorFeed::lane_of(const Known& known, const std::string& uid) const {
  if (!is_heard(known)) return nullptr;
  const auto found = known.by_id.find(uid);
  return found == known.by_id.end() ? nullptr : &known.state->lanes[found->second];
}

serving::ZeroDoor ActivatorFeed::door_of(const std::string& uid) const {
  serving::ZeroDoor out;
  bool all_known = !activators_.empty();
  Duration idle = Duration::max();
  for (const auto& [address, known] : activators_) {
    const noded::LaneState* lane = lane_of(known, uid);
    if (lane == nullptr) {
      all_known = false;
      continue;
    }
    out.waiting += lane->waiting;
    idle = std::min<Duration>(idle, std::chrono::milliseconds(lane->idle_ms));
  }
  out.is_there = !route_of(uid).addresses.empty();
  if (all_known) out.idle = idle;
  return out;
}

serving::ActivatorRoute ActivatorFeed::route_of(const std::string& uid) const {
  serving::ActivatorRoute out;
  const auto port = port_by_uid_.find(uid);
  if (port == port_by_uid_.end() || port->second == 0) return out;
  out.port = port->second;
  for (const auto& [address, known] : activators_) {
    const noded::LaneState* lane = lane_of(known, uid);
    if (lane == nullptr || known.state->draining || lane->port != out.port) continue;
    out.addresses.push_back(address);
  }
  return out;
}

ActivatorFeed::Servings ActivatorFeed::sleepers() const {
  Servings out;
  for (const auto& scope : stores_.scopes()) {
    scope->servings.for_each([&](const auto& object) {
      if (may_sleep(*object)) out.push_back(object);
    });
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a->meta.uid < b->meta.uid; });
  return out;
}

net::Task<void> ActivatorFeed::find_activators() {
  const TimePoint now = clock_.now();
  if (listed_at_ && now - *listed_at_ < kListEvery) co_return;
  const Result<std::vector<std::string>> found = co_await door_.list();
  if (!found.ok()) {
    log_warn("activators cannot be looked for", {{"error", found.error().to_string()}});
    co_return;  // those that are known go on
  }
  listed_at_ = now;
  const std::set<std::string> addresses(found->begin(), found->end());
  std::erase_if(activators_, [&](const auto& entry) { return !addresses.contains(entry.first); });
  for (const std::string& address : addresses) activators_.try_emplace(address);
}

net::Task<std::optional<std::string>> ActivatorFeed::read_keys(kube::ObjectKey secret) {
  const Result<Json> read = co_await client_.get(kube::kSecrets, secret);
  if (!read.ok()) co_return std::nullopt;
  const auto data = read->find("data");
  if (data == read->end() || !data->is_object()) co_return std::nullopt;
  const Result<std::string> text = base64_bytes(text_at(*data, serving::kApiKeysFile));
  if (!text.ok() || text->empty()) co_return std::nullopt;
  co_return *text;
}

net::Task<void> ActivatorFeed::refresh_keys(Servings objects) {
  std::set<kube::ObjectKey> wanted;
  for (const auto& object : objects) {
    if (!object->serving.spec.gateway.auth_secret.empty()) wanted.insert(keys_secret(*object));
  }
  std::erase_if(keys_, [&](const auto& entry) { return !wanted.contains(entry.first); });
  for (const kube::ObjectKey& secret : wanted) {
    const TimePoint now = clock_.now();
    const auto known = keys_.find(secret);
    if (known != keys_.end()) {
      const Duration keep = known->second.text ? kKeysFor : kKeysAgain;
      if (now - known->second.read < keep) continue;
    }
    std::optional<std::string> text = co_await read_keys(secret);
    // As at pods' doors, keys that cannot be read leave those before them in use.
    Keys& kept = keys_[secret];
    if (text) kept.text = std::move(text);
    kept.read = now;
  }
}

std::vector<std::string> ActivatorFeed::pods_of_object(
    const serving::ClusterServing& object) const {
  std::vector<std::string> out;
  Scope* scope = stores_.scope_of(object.meta.key.name_space);
  if (scope == nullptr) return out;
  for (const auto& stored : scope->pods.indexed(object.meta.uid)) {
    const serving::PodObject& pod = stored->pod;
    if (!pod.takes_requests() || out.size() >= noded::kActivationPodsMax) continue;
    out.push_back(
        net::Endpoint{pod.ip, static_cast<std::uint16_t>(serving::kApiPort), {}}.to_string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string ActivatorFeed::table_of(const Servings& objects) {
  std::set<std::string> uids;
  for (const auto& object : objects) uids.insert(object->meta.uid);
  ports_.keep_only(uids);
  std::erase_if(port_by_uid_, [&](const auto& entry) { return !uids.contains(entry.first); });
  noded::ActivationTable table;
  for (const auto& object : objects) {
    if (table.entries.size() >= noded::kActivationsMax) break;
    const std::int64_t port = ports_.port_of(object->meta.uid);
    port_by_uid_[object->meta.uid] = port;
    if (port == 0) continue;
    noded::Activation entry{.id = object->meta.uid,
                            .name = object->meta.key.to_string(),
                            .port = port,
                            .asks_for_keys = !object->serving.spec.gateway.auth_secret.empty(),
                            .keys = std::nullopt,
                            .pods = pods_of_object(*object)};
    const auto keys = keys_.find(keys_secret(*object));
    if (entry.asks_for_keys && keys != keys_.end()) entry.keys = keys->second.text;
    table.entries.push_back(std::move(entry));
  }
  return dump_json(noded::to_json(table));
}

net::Task<void> ActivatorFeed::exchange(std::string address, std::string table,
                                        std::string digest) {
  const auto before = activators_.find(address);
  if (before == activators_.end()) co_return;
  const bool is_told = before->second.state && before->second.state->table == digest;
  std::optional<std::string> body;
  if (!is_told) body = table;
  Result<noded::ActivatorState> state = co_await door_.exchange(address, std::move(body));
  if (state.ok() && state->table != digest) {
    // It was started anew since.
    body = std::move(table);
    state = co_await door_.exchange(address, std::move(body));
  }
  const auto known = activators_.find(address);
  if (known == activators_.end()) co_return;
  if (!state.ok()) {
    log_debug("activator does not answer",
              {{"address", address}, {"error", state.error().to_string()}});
    co_return;
  }
  Known& entry = known->second;
  entry.by_id.clear();
  for (std::size_t i = 0; i < state->lanes.size(); ++i) {
    const noded::LaneState& lane = state->lanes[i];
    if (!lane.error.empty()) log_debug("activator", {{"object", lane.id}, {"error", lane.error}});
    entry.by_id[lane.id] = i;
  }
  entry.state = std::move(state).value();
  entry.heard = clock_.now();
}

/// One that hangs holds up neither those that wait at the others nor the next question to them.
net::Task<void> ActivatorFeed::ask(std::string address, std::string table, std::string digest,
                                   std::shared_ptr<const Servings> objects) {
  co_await exchange(address, std::move(table), std::move(digest));
  const auto known = activators_.find(address);
  if (known != activators_.end()) known->second.is_asked = false;
  for (const auto& object : *objects) {
    if (wakes(*object)) trigger_(object->meta.key);
  }
  const bool all_are_heard = std::none_of(activators_.begin(), activators_.end(),
                                          [](const auto& entry) { return entry.second.is_asked; });
  if (all_are_heard) tell_passes(*objects);
}

bool ActivatorFeed::wakes(const serving::ClusterServing& object) const {
  return object.serving.replicas_or_default() == 0 && door_of(object.meta.uid).waiting > 0;
}

void ActivatorFeed::tell_passes(const Servings& objects) {
  std::map<std::string, serving::ActivatorRoute> routes;
  for (const auto& object : objects) {
    const std::string& uid = object->meta.uid;
    serving::ActivatorRoute route = route_of(uid);
    const auto before = routes_told_.find(uid);
    const bool moved = before == routes_told_.end() || before->second != route;
    if (moved) trigger_(object->meta.key);
    routes[uid] = std::move(route);
  }
  routes_told_ = std::move(routes);
}

net::Task<void> ActivatorFeed::look() {
  const auto objects = std::make_shared<const Servings>(sleepers());
  if (objects->empty() && port_by_uid_.empty()) co_return;
  co_await find_activators();
  co_await refresh_keys(*objects);
  const std::string table = table_of(*objects);
  const std::string digest = sha256_hex(table);
  if (activators_.empty()) tell_passes(*objects);
  for (auto& [address, known] : activators_) {
    if (std::exchange(known.is_asked, true)) continue;
    questions_.spawn(ask(address, table, digest, objects));
  }
}

net::Task<void> ActivatorFeed::run() {
  while (!stopping_) {
    if (client_.may_write()) co_await look();
    if (!stopping_) co_await wake_.wait(port_by_uid_.empty() ? kRestEvery : kLookEvery);
  }
  co_await questions_.join();
}

void ActivatorFeed::stop() {
  stopping_ = true;
  wake_.notify();
}

}  // namespace kantha::cluster
