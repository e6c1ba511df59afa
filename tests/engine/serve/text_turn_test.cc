#include "engine/serve/text_turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>

#include "tests/base/net/loopback.h"

namespace kantha::serve {
namespace {

/// A client that can leave.
class Client final : public net::ResponseWriter {
 public:
  net::Task<Status> send(net::HttpResponse) override { co_return ok_status(); }
  net::Task<Status> start(int, net::Headers) override { co_return ok_status(); }
  net::Task<Status> write(std::string) override { co_return ok_status(); }
  net::Task<Status> finish() override { co_return ok_status(); }
  void abort() override {}
  bool started() const override { return false; }
  bool client_gone() const override { return false; }
  void on_client_gone(std::function<void()> callback) override { gone_ = std::move(callback); }
  void leave() { gone_(); }

 private:
  std::function<void()> gone_;
};

/// A worker that is busy with somebody else's text until released.
class TextTurnTest : public testing::Test {
 protected:
  TextTurnTest()
      : tasks_(io_.get_executor(), "text work"),
        requests_(io_.get_executor(), "requests"),
        pool_(1) {}
  ~TextTurnTest() override {
    release();
    io_.restart();
    io_.run();
  }

  void occupy() {
    std::function<void()> wait = [future = released_.get_future().share()] { future.wait(); };
    requests_.spawn(pool_.run(std::move(wait)));
  }
  void release() {
    if (!std::exchange(is_released_, true)) released_.set_value();
  }
  TextTurn make_turn() { return {tasks_, io_.get_executor(), clock_, client_}; }
  void start(TextTurn& turn, std::function<void()> work) {
    requests_.spawn(net::store_result(turn.run(pool_, std::move(work)), &result_));
  }
  /// Runs the I/O side until the turn is over.
  bool over() {
    return net::eventually([this] {
      io_.restart();
      io_.poll();
      return result_.has_value();
    });
  }

  FakeClock clock_;
  boost::asio::io_context io_;
  net::TaskGroup tasks_;
  net::TaskGroup requests_;
  Client client_;
  std::optional<Status> result_;
  std::promise<void> released_;
  bool is_released_ = false;
  net::WorkerPool pool_;
};

TEST_F(TextTurnTest, TheWorkIsDoneBeforeTheRequestGoesOn) {
  TextTurn turn = make_turn();
  auto done = std::make_shared<std::atomic<bool>>(false);
  start(turn, [done] { done->store(true); });
  ASSERT_TRUE(over());
  EXPECT_TRUE(result_->ok());
  EXPECT_TRUE(done->load());
}

TEST_F(TextTurnTest, AClientThatLeavesWaitsForNobodyAndItsWorkIsDropped) {
  occupy();
  TextTurn turn = make_turn();
  auto owned = std::make_shared<int>(7);
  auto done = std::make_shared<std::atomic<bool>>(false);
  start(turn, [done, owned] { done->store(true); });
  io_.poll();
  client_.leave();
  ASSERT_TRUE(over());
  EXPECT_EQ(result_->error().code, Code::kCancelled);
  EXPECT_EQ(owned.use_count(), 1) << "its text is given back at once";
  release();
  io_.restart();
  io_.run();
  EXPECT_FALSE(done->load());
}

TEST_F(TextTurnTest, ADeadlineIsKeptWhileAnotherTextIsWorkedOn) {
  occupy();
  TextTurn turn = make_turn();
  turn.set_deadline(clock_.now() + std::chrono::milliseconds(20),
                    Error{.code = Code::kDeadlineExceeded, .message = "late"});
  start(turn, [] {});
  io_.poll();
  EXPECT_FALSE(result_.has_value());
  clock_.advance(std::chrono::milliseconds(21));
  ASSERT_TRUE(over());
  EXPECT_EQ(result_->error().message, "late");
}

TEST_F(TextTurnTest, WorkThatHasBegunEndsForNobody) {
  auto begun = std::make_shared<std::promise<void>>();
  auto begins = begun->get_future();
  TextTurn turn = make_turn();
  start(turn, [begun, until = released_.get_future().share()] {
    begun->set_value();
    until.wait();
  });
  io_.poll();
  begins.wait();
  client_.leave();
  ASSERT_TRUE(over());
  EXPECT_EQ(result_->error().code, Code::kCancelled);
  EXPECT_EQ(tasks_.running(), 1u);
  release();
  io_.restart();
  io_.run();
  EXPECT_EQ(tasks_.running(), 0u);
}

}  // namespace
}  // namespace kantha::serve
