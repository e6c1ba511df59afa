#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "operator/runtime/gated_sink.h"
#include "tests/operator/runtime/lamp.h"

/// Store, sink and gate together, against random histories of a server: objects that are deleted
/// and made anew, writes that change nothing, objects that leave the watch, that can't be decoded,
/// lists that skip what was between. The gate must not open before the store has come so far, and
/// must be open once it has: a write that can never be seen must not hold its owner for a minute.
namespace kantha::runtime {
namespace {

using namespace std::chrono_literals;

const TimePoint kNow{};  // patience never ends here

struct Event {
  int version;
  Json object;
  bool is_gone;  ///< for this watch
};

/// What was answered to us and the gate was told.
struct Answered {
  int version = 0;      ///< of our newest write, 0: none
  std::string deleted;  ///< uid that we deleted last
};

class History {
 public:
  explicit History(std::uint64_t seed)
      : seed_(seed), sink_(gated(sink_of(store_), gate_, "lamps")) {
    store_.on_change([this](const StoreChange<Lamp>& change) {
      const kube::ObjectMeta& meta = change.after ? change.after->meta : change.before->meta;
      gate_.seen("lamps", meta.key, change.after ? meta.uid : "", meta.resource_version,
                 meta.is_deleting());
    });
    relist();
  }

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      act();
      check(step);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  /// Nobody does anything any more; what is under way arrives, then one event of a stranger.
  void calm_down() {
    while (!answers_.empty()) answer();
    change("stranger", [](Json& object) { object["color"] = "calm"; });
    while (!events_.empty()) deliver();
    for (const char* name : kNames) {
      EXPECT_TRUE(gate_.is_open(lamp_key(name), kNow)) << name << " waits, seed " << seed_;
    }
    EXPECT_EQ(gate_.given_up_count(), 0u);
    EXPECT_EQ(gate_.pending_count(), 0u);
  }

 private:
  static constexpr const char* kNames[] = {"a", "b", "c"};

  std::uint64_t draw(std::uint64_t below) { return random_bits(seed_, draws_++) % below; }

  void act() {
    const std::string name = kNames[draw(3)];
    switch (draw(10)) {
      case 0: return answer();
      case 1:
      case 2: return deliver();
      case 3: return draw(4) == 0 ? relist() : bookmark();
      case 4: return remove(name, false);
      case 5: return change(name, [&](Json& object) { object["selected"] = draw(2) == 0; });
      case 6:
        return change(name, [&](Json& object) {
          draw(2) == 0 ? void(object.erase("color")) : void(object["color"] = "red");
        });
      default: return write(name);
    }
  }

  /// Ours, one kind of write or another; its answer comes later.
  void write(const std::string& name) {
    const auto found = objects_.find(name);
    if (found == objects_.end()) {
      objects_[name] = lamp(name, "u" + std::to_string(++uids_), 0, "new");
      change(name, [](Json& object) { object["selected"] = true; });
    } else if (draw(3) == 0) {
      return remove(name, true);
    } else if (draw(3) != 0) {  // else: it changes nothing, and there is no event
      change(name, [&](Json& object) { object["count"] = version_; });
    }
    const Json& object = objects_.at(name);
    answers_.push_back(
        {lamp_key(name), object["metadata"]["uid"].get<std::string>(), version_of(object), false});
  }

  void change(const std::string& name, const std::function<void(Json&)>& edit) {
    if (name == "stranger") objects_.try_emplace(name, lamp(name, "s", 0, "x"));
    const auto found = objects_.find(name);
    if (found == objects_.end()) return;
    const bool was_shown = is_shown(found->second);
    edit(found->second);
    found->second["metadata"]["resourceVersion"] = std::to_string(++version_);
    const bool is_now = name == "stranger" || is_shown(found->second);
    if (was_shown || is_now) events_.push_back({version_, found->second, !is_now});
  }

  /// Gone at once, or, having a finalizer, only marked.
  void remove(const std::string& name, bool is_ours) {
    const auto found = objects_.find(name);
    if (found == objects_.end()) return;
    const std::string uid = found->second["metadata"]["uid"];
    if (!found->second["metadata"].contains("deletionTimestamp") && draw(3) == 0) {
      change(name, [](Json& object) {
        object["metadata"]["deletionTimestamp"] = "2026-11-30T00:00:00Z";
      });
    } else {
      const bool was_shown = is_shown(found->second);
      found->second["metadata"]["resourceVersion"] = std::to_string(++version_);
      if (was_shown) events_.push_back({version_, found->second, true});
      objects_.erase(found);
    }
    // We delete only what we have seen.
    const auto held = store_.find(lamp_key(name));
    if (is_ours && held != nullptr && held->meta.uid == uid) {
      answers_.push_back({lamp_key(name), uid, "", true});
    }
  }

  /// As the operator's client tells the gate.
  void answer() {
    if (answers_.empty()) return;
    const Answer next = answers_.front();
    answers_.pop_front();
    gate_.wrote(next.key, {"lamps", next.key, next.uid, next.version, next.is_delete}, kNow);
    const auto held = store_.find(next.key);
    if (held != nullptr || next.is_delete) {
      gate_.seen("lamps", next.key, held ? held->meta.uid : "",
                 held ? held->meta.resource_version : "", held && held->meta.is_deleting());
    }
    Answered& told = told_[next.key.name];
    if (next.is_delete) {
      told.deleted = next.uid;
    } else {
      told.version = std::max(told.version, std::stoi(next.version));
    }
  }

  void deliver() {
    if (events_.empty()) return;
    const Event next = events_.front();
    events_.pop_front();
    progress_ = next.version;
    next.is_gone ? sink_.erase(next.object) : sink_.apply(next.object);
  }

  void bookmark() {
    if (!events_.empty()) return;
    progress_ = version_;
    sink_.seen_version(std::to_string(version_));
  }

  void relist() {
    events_.clear();
    progress_ = version_;
    sink_.begin_list();
    for (const auto& [name, object] : objects_) {
      if (is_shown(object)) sink_.stage(object);
    }
    sink_.publish(std::to_string(version_));
  }

  void check(int step) {
    for (const char* name : kNames) {
      if (!gate_.is_open(lamp_key(name), kNow)) continue;
      const Answered& told = told_[name];
      ASSERT_LE(told.version, progress_) << name << " is open, seed " << seed_ << " step " << step;
      const auto held = store_.find(lamp_key(name));
      ASSERT_FALSE(held != nullptr && held->meta.uid == told.deleted && !held->meta.is_deleting())
          << name << " is open and still holds what was deleted, seed " << seed_;
    }
  }

  static bool is_shown(const Json& object) { return object.value("selected", false); }

  struct Answer {
    kube::ObjectKey key;
    std::string uid;
    std::string version;
    bool is_delete;
  };

  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  Store<Lamp> store_{kLamps, decode_lamp};
  WriteGate gate_;
  WatchSink sink_;
  std::map<std::string, Json> objects_;
  std::deque<Event> events_;
  std::deque<Answer> answers_;
  std::map<std::string, Answered> told_;
  int version_ = 100;
  int progress_ = 100;
  int uids_ = 0;
};

TEST(GateHistory, OpensWhenTheStoreHasComeSoFarAndNotBefore) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    History history(seed);
    history.run(120);
    if (!testing::Test::HasFailure()) history.calm_down();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kantha::runtime
