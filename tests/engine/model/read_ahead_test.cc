#include "engine/model/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

namespace kantha::model {
namespace {

using Bytes = ReadAhead::Bytes;
using std::chrono::seconds;

/// A file system that answers when it is told to, and remembers what was asked.
class SlowDisk {
 public:
  void fetch(Bytes bytes) {
    std::unique_lock lock(mutex_);
    asked_.push_back(bytes);
    ++waiting_;
    changed_.notify_all();
    changed_.wait_for(lock, seconds(20), [this] { return open_; });
    --waiting_;
    changed_.notify_all();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Whether so many reads come to be under way at once.
  bool sees(int waiting) {
    return holds([&] { return waiting_ == waiting; });
  }
  bool was_asked(std::size_t reads) {
    return holds([&] { return asked_.size() == reads; });
  }
  std::vector<Bytes> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  template <class Condition>
  bool holds(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20), condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Bytes> asked_;
  int waiting_ = 0;
  bool open_ = false;
};

class ReadAheadTest : public testing::Test {
 protected:
  /// Bytes [first, last) of the file.
  Bytes part(std::size_t first, std::size_t last) const {
    return Bytes(file_).subspan(first, last - first);
  }
  std::size_t offset(Bytes bytes) const {
    return static_cast<std::size_t>(bytes.data() - file_.data());
  }
  std::function<void(Bytes)> fetch() {
    return [this](Bytes bytes) { disk_.fetch(bytes); };
  }

  std::vector<std::byte> file_ = std::vector<std::byte>(1000);
  SlowDisk disk_;
};

TEST_F(ReadAheadTest, SeveralReadsAreUnderWayAtOnceInTheOrderGiven) {
  ReadAhead ahead({part(500, 620), part(0, 400)}, fetch(),
                  {.threads = 4, .piece_bytes = 100, .window_bytes = 1000});
  EXPECT_TRUE(disk_.sees(4));
  std::set<std::size_t> offsets;
  for (const Bytes bytes : disk_.asked()) offsets.insert(offset(bytes));
  EXPECT_EQ(offsets, (std::set<std::size_t>{500, 600, 0, 100}));
  disk_.open();
  EXPECT_TRUE(disk_.was_asked(6));
}

TEST_F(ReadAheadTest, GoesNoFurtherAheadThanItsWindow) {
  disk_.open();
  ReadAhead ahead({part(0, 1000)}, fetch(),
                  {.threads = 2, .piece_bytes = 100, .window_bytes = 300});
  EXPECT_TRUE(disk_.was_asked(3));
  ahead.advance(200);
  EXPECT_TRUE(disk_.was_asked(5));
  EXPECT_TRUE(disk_.sees(0));
  std::size_t last = 0;
  for (const Bytes bytes : disk_.asked()) last = std::max(last, offset(bytes));
  EXPECT_EQ(last, 400U);
}

TEST_F(ReadAheadTest, LeavesOutWhatWasTakenBefore) {
  ReadAhead ahead({part(0, 1000)}, fetch(),
                  {.threads = 1, .piece_bytes = 100, .window_bytes = 500});
  ASSERT_TRUE(disk_.sees(1));
  ahead.advance(750);
  disk_.open();
  EXPECT_TRUE(disk_.was_asked(4));
  EXPECT_EQ(offset(disk_.asked()[1]), 700U) << "a part of it was not";
}

TEST_F(ReadAheadTest, EndsWithoutReadingTheRest) {
  {
    disk_.open();
    ReadAhead ahead({part(0, 1000)}, fetch(),
                    {.threads = 3, .piece_bytes = 10, .window_bytes = 50});
    ASSERT_TRUE(disk_.was_asked(5));
  }
  EXPECT_EQ(disk_.asked().size(), 5U);
  ReadAhead none({}, fetch());
}

}  // namespace
}  // namespace kantha::model
