#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "base/rng.h"
#include "operator/kube/api_fault.h"
#include "operator/runtime/watcher_step.h"
#include "tests/operator/runtime/lamp_server.h"

/// Random histories of a server, with random faults on the way, against a watcher's decisions.
/// At every moment the store is a state that the server was in; in the end it is the last one.
namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;
using kube::ApiFault;

constexpr std::array kFaults = {
    ApiFault::kUnreachable, ApiFault::kTimeout,   ApiFault::kServer,        ApiFault::kThrottled,
    ApiFault::kForbidden,   ApiFault::kNotFound,  ApiFault::kFutureVersion, ApiFault::kMalformed,
    ApiFault::kExpired,     ApiFault::kCancelled, ApiFault::kUnauthorized,  ApiFault::kInvalid};

class StormRun {
 public:
  explicit StormRun(std::uint64_t seed)
      : seed_(seed), server_(/*knows_watch_list=*/seed % 3 != 0), store_(kLamps, decode_lamp) {
    state_.backoff = FaultBackoff(seed);
    state_.tuning.page_limit = 2;
    state_.is_watch_list_refused = seed % 5 == 0;
    sink_ = sink_of(store_);
    store_.on_change([this](const StoreChange<Lamp>& change) { follow(change); });
    feed(Begin{}, nullptr);
  }

  /// Trouble everywhere: changes, faults, time.
  void storm(int steps) {
    for (int i = 0; i < steps && !failed_; ++i) {
      while (draw(3) == 0) change();
      act(/*with_faults=*/true);
    }
  }
  /// The trouble is over: bounded steps and bounded time until the store is right.
  void calm() {
    const TimePoint begun = now_;
    for (int i = 0; i < 400 && !is_right() && !failed_; ++i) act(/*with_faults=*/false);
    EXPECT_TRUE(is_right()) << "seed " << seed_ << ": " << phase_name(state_.phase) << " at "
                            << state_.resource_version << " of " << server_.version();
    EXPECT_EQ(state_of(store_), server_.state_at(server_.version())) << "seed " << seed_;
    EXPECT_LE(now_ - begun, 6min) << "seed " << seed_;
    EXPECT_EQ(told_, state_of(store_)) << "what listeners were told; seed " << seed_;
    EXPECT_FALSE(state_.trouble) << "seed " << seed_;
  }
  bool failed() const { return failed_; }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_bits(seed_, draws_++) % below; }
  bool is_right() const {
    return state_.phase == WatchPhase::kWatching && store_.is_synced() &&
           store_.resource_version() == std::to_string(server_.version());
  }

  void change() {
    const std::string name(1, static_cast<char>('a' + draw(6)));
    switch (draw(8)) {
      case 0:
      case 1: return server_.remove(name);
      case 2:  // another one under the same name
        server_.remove(name);
        return server_.put(name, "red");
      case 3: return server_.put(name, "");  // one that can't be decoded
      case 4:
        if (draw(4) == 0) server_.compact(server_.version() - static_cast<int>(draw(6)));
        return;
      default: return server_.put(name, draw(2) == 0 ? "red" : "blue");
    }
  }

  void act(bool with_faults) {
    const bool is_faulty = with_faults && draw(5) == 0;
    const WatchDeed deed = std::exchange(next_, {});
    switch (deed.kind) {
      case WatchDeed::Kind::kPause: now_ += deed.pause; return feed(Begin{}, nullptr);
      case WatchDeed::Kind::kList: return list(deed, is_faulty);
      case WatchDeed::Kind::kWatch: {
        const Status opened = is_faulty ? Status(any_fault()) : server_.open(deed);
        if (!opened.ok()) return feed(AttemptFailed{opened.error()}, nullptr);
        return feed(WatchOpened{}, nullptr);
      }
      case WatchDeed::Kind::kRead: return read(deed, is_faulty, with_faults);
      case WatchDeed::Kind::kContinue: break;
    }
    failed_ = true;
    ADD_FAILURE() << "seed " << seed_ << ": nothing to do next";
  }

  void list(const WatchDeed& deed, bool is_faulty) {
    if (is_faulty && draw(3) == 0) server_.forget_tokens();
    Result<kube::ObjectPage> page =
        is_faulty ? Result<kube::ObjectPage>(any_fault()) : server_.list(deed);
    if (!page) return feed(AttemptFailed{page.error()}, nullptr);
    for (const Json& item : page->items) sink_.stage(item);
    feed(PageSeen{page->items.size(), page->resource_version, page->continue_token}, nullptr);
  }

  void read(const WatchDeed& deed, bool is_faulty, bool with_faults) {
    for (std::uint64_t i = 0, count = 1 + draw(4); i < count; ++i) {
      if (with_faults && draw(6) == 0) server_.send_bookmark();
      const auto event = server_.next_event();
      if (!event) break;
      feed(input_of(*event), &event->object);
      if (next_.kind != WatchDeed::Kind::kContinue) return;
      if (with_faults && draw(8) == 0) feed(input_of(*event), &event->object);  // once more
      if (with_faults && draw(8) == 0) nonsense();
    }
    if (is_faulty) return break_off(deed);
    feed(EventsTaken{}, nullptr);
  }

  void break_off(const WatchDeed& deed) {
    switch (draw(4)) {
      case 0: return feed(AttemptFailed{any_fault()}, nullptr);
      case 1: return feed(WatchEnded{}, nullptr);
      case 2: now_ += deed.idle_timeout; return feed(WatchQuiet{}, nullptr);
      default: {
        const Json status = {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}};
        return feed(input_of({kube::WatchEventType::kError, status}), &status);
      }
    }
  }

  /// An event whose object is no object of ours.
  void nonsense() {
    const Json objects[] = {nullptr, 7, Json::array(), {{"metadata", {{"name", 3}}}}};
    const Json& object = objects[draw(4)];
    feed(input_of({kube::WatchEventType::kModified, object}), &object);
  }

  Error any_fault() { return fault_error(kFaults.at(draw(kFaults.size()))); }

  void feed(const WatchInput& input, const Json* object) {
    WatchStep step = watcher_step(std::move(state_), input, now_);
    state_ = std::move(step.state);
    for (const StoreDeed deed : step.output.store) perform(deed, object);
    next_ = std::move(step.output.next);
    check();
  }

  void perform(StoreDeed deed, const Json* object) {
    switch (deed) {
      case StoreDeed::kBeginList: return sink_.begin_list();
      case StoreDeed::kPublish: return sink_.publish(state_.resource_version);
      case StoreDeed::kSeenVersion: return sink_.seen_version(state_.resource_version);
      case StoreDeed::kStage: return object == nullptr ? void() : sink_.stage(*object);
      case StoreDeed::kUnstage: return sink_.unstage(*object);
      case StoreDeed::kApply: return sink_.apply(*object);
      case StoreDeed::kErase: return sink_.erase(*object);
    }
  }

  /// No mixed snapshot, no lost event, nothing from another time.
  void check() {
    if (failed_ || !store_.is_synced()) return;
    const std::string& truth = server_.state_at(std::stoi(state_.resource_version));
    if (state_of(store_) == truth) return;
    failed_ = true;
    ADD_FAILURE() << "seed " << seed_ << ": at " << state_.resource_version << " the server had "
                  << truth << "and the store has " << state_of(store_);
  }

  /// What a listener would believe who only ever hears of changes.
  void follow(const StoreChange<Lamp>& change) {
    const auto& meta = change.after ? change.after->meta : change.before->meta;
    const auto known = lamps_.find(meta.key.name);
    EXPECT_EQ(known != lamps_.end(), change.before != nullptr) << "seed " << seed_;
    if (change.before && change.after) {
      EXPECT_EQ(change.before->meta.uid, change.after->meta.uid) << "seed " << seed_;
    }
    lamps_.erase(meta.key.name);
    if (change.after) {
      lamps_[meta.key.name] = meta.key.name + "/" + meta.uid + "@" + meta.resource_version + "=" +
                              change.after->color + " ";
    }
    told_.clear();
    for (const auto& entry : lamps_) told_ += entry.second;
  }

  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  LampServer server_;
  Store<Lamp> store_;
  WatchSink sink_;
  WatchState state_;
  WatchDeed next_;
  TimePoint now_{};
  std::map<std::string, std::string> lamps_;
  std::string told_;
  bool failed_ = false;
};

// F1 to F12, F14, F17, F18, F32, F33 in any order
TEST(WatcherProperty, TheStoreIsAlwaysAStateOfTheServerAndInTheEndTheLastOne) {
  const char* more = std::getenv("KANTHA_PROPERTY_SEEDS");
  const std::uint64_t seeds = more != nullptr ? std::strtoull(more, nullptr, 10) : 10'000;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    StormRun run(seed);
    run.storm(static_cast<int>(20 + seed % 80));
    run.calm();
    if (run.failed() || ::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kantha::runtime
