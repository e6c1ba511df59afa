#include "operator/runtime/store.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/operator/runtime/lamp.h"

namespace kantha::runtime {
namespace {

using kube::ObjectKey;

ObjectKey key(const std::string& name) { return lamp_key(name); }

/// A store whose changes are noted: "+a" new, "~a" changed, "-a" gone, with what the store held
/// under that name when it was told.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest()
      : store_(kLamps, decode_lamp,
               [](const Lamp& lamp) { return std::vector<std::string>{lamp.color}; }) {
    store_.on_change([this](const StoreChange<Lamp>& change) {
      const auto& meta = change.after ? change.after->meta : change.before->meta;
      const char* sign = !change.before ? "+" : !change.after ? "-" : "~";
      const auto held = store_.find(meta.key);
      EXPECT_TRUE(change.after ? held == change.after : held != change.before) << meta.key.name;
      notes_ += (notes_.empty() ? "" : " ") + (sign + meta.key.name);
    });
  }

  std::string notes() { return std::exchange(notes_, {}); }
  std::string names(const std::vector<std::shared_ptr<const Lamp>>& lamps) {
    std::string out;
    for (const auto& lamp : lamps) out += lamp->meta.key.name;
    return out;
  }

  Store<Lamp> store_;
  std::string notes_;
};

TEST_F(StoreTest, TellsWhatIsNewChangedAndGone) {
  EXPECT_FALSE(store_.is_synced());
  store_.apply(lamp("a", "u1", 1, "red"));
  EXPECT_EQ(notes(), "+a");
  store_.apply(lamp("a", "u1", 2, "blue"));
  EXPECT_EQ(notes(), "~a");
  EXPECT_EQ(store_.find(key("a"))->color, "blue");
  EXPECT_EQ(store_.resource_version(), "2");
  store_.erase(key("a"), "u1");
  EXPECT_EQ(notes(), "-a");
  EXPECT_EQ(store_.find(key("a")), nullptr);
  EXPECT_EQ(store_.size(), 0u);
}

// F1
TEST_F(StoreTest, TakesTheSameVersionTwiceForNoChange) {
  store_.apply(lamp("a", "u1", 1, "red"));
  const auto held = store_.find(key("a"));
  notes();
  store_.apply(lamp("a", "u1", 1, "red"));
  store_.replace_all({lamp("a", "u1", 1, "red")}, "7");
  EXPECT_EQ(notes(), "");
  EXPECT_EQ(store_.find(key("a")), held);
}

TEST_F(StoreTest, AmendsWhatItKeepsWithoutTellingAnybody) {
  store_.apply(lamp("a", "u1", 1, "red"));
  const auto held = store_.find(key("a"));
  notes();
  store_.amend(held, [](Lamp& kept) { kept.meta.labels["seen"] = "yes"; });
  EXPECT_EQ(notes(), "");
  EXPECT_TRUE(store_.find(key("a"))->meta.labels.contains("seen"));
  EXPECT_EQ(names(store_.indexed("red")), "a");
  EXPECT_EQ(store_.indexed("red").at(0), store_.find(key("a")));
  // What is not held any more is not brought back.
  store_.apply(lamp("a", "u1", 2, "blue"));
  const auto newer = store_.find(key("a"));
  store_.amend(held, [](Lamp& kept) { kept.color = "red"; });
  EXPECT_EQ(store_.find(key("a")), newer);
  // The version still tells changes apart.
  notes();
  store_.apply(lamp("a", "u1", 2, "blue"));
  EXPECT_EQ(notes(), "");
}

// F18
TEST_F(StoreTest, TakesAnotherUidUnderOneNameForADeleteAndAnAdd) {
  store_.apply(lamp("a", "u1", 1, "red"));
  store_.apply(lamp("a", "u2", 5, "red"));
  EXPECT_EQ(notes(), "+a -a +a");
  EXPECT_EQ(store_.find(key("a"))->meta.uid, "u2");
  store_.erase(key("a"), "u1");  // late news of the first one
  EXPECT_EQ(notes(), "");
  EXPECT_NE(store_.find(key("a")), nullptr);
}

// F2: tombstones for vanished keys; F18 while offline
TEST_F(StoreTest, ComputesWhatVanishedWhenEverythingIsReplaced) {
  store_.replace_all({lamp("a", "u1", 1, "red"), lamp("b", "u2", 2, "red"),
                      lamp("c", "u3", 3, "red"), lamp("d", "u4", 4, "red")},
                     "10");
  EXPECT_TRUE(store_.is_synced());
  EXPECT_EQ(notes(), "+a +b +c +d");
  // a stays, b changed, c is another one, d is gone, e is new.
  store_.begin_list();
  for (const Json& each : {lamp("b", "u2", 12, "blue"), lamp("a", "u1", 1, "red"),
                           lamp("e", "u5", 13, "blue"), lamp("c", "u9", 14, "red")}) {
    store_.stage(each);
  }
  EXPECT_EQ(names(store_.all()), "abcd") << "nothing is seen of a list that is not whole";
  EXPECT_EQ(notes(), "");
  store_.publish("20");
  EXPECT_EQ(notes(), "-c -d ~b +c +e");
  EXPECT_EQ(names(store_.all()), "abce");
  EXPECT_EQ(store_.find(key("c"))->meta.uid, "u9");
}

TEST_F(StoreTest, DropsAListThatWasNotFinished) {
  store_.replace_all({lamp("a", "u1", 1, "red")}, "10");
  store_.begin_list();
  store_.stage(lamp("b", "u2", 2, "red"));
  store_.begin_list();
  store_.stage(lamp("a", "u1", 1, "red"));
  store_.stage(lamp("c", "u3", 3, "red"));
  store_.stage(lamp("c", "u3", 4, "blue"));
  store_.stage(lamp("d", "u4", 4, "blue"));
  store_.unstage(key("d"));
  notes();
  store_.publish("11");
  EXPECT_EQ(notes(), "+c");
  EXPECT_EQ(names(store_.all()), "ac");
  EXPECT_EQ(store_.find(key("c"))->color, "blue");
  EXPECT_EQ(store_.resource_version(), "11");
}

TEST_F(StoreTest, FindsObjectsByTheirIndexKeysOrderedByName) {
  store_.replace_all(
      {lamp("c", "u3", 3, "red"), lamp("a", "u1", 1, "red"), lamp("b", "u2", 2, "blue")}, "10");
  EXPECT_EQ(names(store_.indexed("red")), "ac");
  store_.apply(lamp("a", "u1", 11, "blue"));
  EXPECT_EQ(names(store_.indexed("red")), "c");
  EXPECT_EQ(names(store_.indexed("blue")), "ab");
  store_.erase(key("b"), "");
  store_.replace_all({lamp("d", "u4", 12, "red")}, "13");
  EXPECT_EQ(names(store_.indexed("blue")), "");
  EXPECT_EQ(names(store_.indexed("red")), "d");
}

// F14
TEST_F(StoreTest, CountsWhatItCannotDecodeAndGoesOn) {
  const std::vector<Json> bad = {
      nullptr,
      5,
      Json::array(),
      Json::object(),
      {{"metadata", 5}},
      {{"metadata", {{"name", 5}}}},
      {{"metadata", {{"name", "x"}}}},
      {{"metadata", {{"name", "x"}}}, {"color", 7}},
      {{"metadata", {{"name", "x"}}}, {"explodes", true}},
  };
  for (const Json& object : bad) {
    store_.apply(object);
    store_.stage(object);
  }
  EXPECT_EQ(store_.undecodable_count(), bad.size() * 2);
  EXPECT_NE(store_.last_undecodable().find("x: a decoder's trouble"), std::string::npos);
  Json extra = lamp("a", "u1", 1, "red");
  extra["unknown"] = {{"deep", Json::array({1, 2, 3})}};
  store_.apply(extra);
  EXPECT_EQ(notes(), "+a");
}

// F14: what it was before is no longer true
TEST_F(StoreTest, ForgetsAnObjectThatBecameUndecodable) {
  store_.apply(lamp("a", "u1", 1, "red"));
  Json broken = lamp("a", "u1", 2, "red");
  broken.erase("color");
  store_.apply(broken);
  EXPECT_EQ(notes(), "+a -a");
  EXPECT_EQ(store_.resource_version(), "2");
  store_.apply(lamp("a", "u1", 3, "red"));
  EXPECT_EQ(notes(), "+a");
}

TEST_F(StoreTest, KeepsItsContentWhenMarkedStale) {
  store_.replace_all({lamp("a", "u1", 1, "red")}, "10");
  const WatchSink sink = sink_of(store_);
  sink.set_stale(true);
  EXPECT_TRUE(store_.is_stale());
  EXPECT_EQ(names(store_.all()), "a");
  sink.set_stale(false);
  EXPECT_FALSE(store_.is_stale());
}

TEST_F(StoreTest, LearnsTheVersionOfADeleteThroughItsSink) {
  const WatchSink sink = sink_of(store_);
  sink.apply(lamp("a", "u1", 1, "red"));
  sink.erase(lamp("a", "u1", 9, "red"));
  EXPECT_EQ(store_.resource_version(), "9");
  EXPECT_EQ(notes(), "+a -a");
  sink.erase(5);  // no object at all
  sink.seen_version("12");
  EXPECT_EQ(store_.resource_version(), "12");
}

TEST_F(StoreTest, LeavesReadersWhatTheyTook) {
  store_.apply(lamp("a", "u1", 1, "red"));
  const auto taken = store_.find(key("a"));
  store_.replace_all({}, "5");
  EXPECT_EQ(taken->color, "red");
}

}  // namespace
}  // namespace kantha::runtime
