#include "engine/serve/text_turn.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace kantha::serve {

/// What wakes the request: its client's leaving or its work's end.
struct TextTurn::Client {
  explicit Client(const boost::asio::any_io_executor& executor) : wake(executor) {}
  net::Notify wake;
  bool gone = false;
};

/// Shared by the request and the worker.
struct TextTurn::Job {
  std::shared_ptr<Client> client;
  std::function<void()> work;
  std::atomic<bool> claimed = false;  ///< by the worker that runs it or the request that drops it
  bool done = false;                  ///< I/O thread
};

TextTurn::TextTurn(net::TaskGroup& owner, boost::asio::any_io_executor executor, const Clock& clock,
                   net::ResponseWriter& writer)
    : owner_(owner), clock_(clock), client_(std::make_shared<Client>(executor)) {
  // The writer may keep this for longer than the request lives.
  writer.on_client_gone([weak = std::weak_ptr(client_)] {
    const auto client = weak.lock();
    if (!client) return;
    client->gone = true;
    client->wake.notify();
  });
}

void TextTurn::set_deadline(TimePoint deadline, Error passed) {
  deadline_ = deadline;
  passed_ = std::move(passed);
}

Status TextTurn::check_wanted() const {
  if (client_->gone) return Error{.code = Code::kCancelled, .message = "the client left"};
  if (deadline_ && clock_.now() >= *deadline_) return *passed_;
  return ok_status();
}

/// Until the deadline; a minute without one, only to look again.
Duration TextTurn::patience() const {
  constexpr Duration kLongest = std::chrono::minutes(1);
  if (!deadline_) return kLongest;
  const Duration left = *deadline_ - clock_.now();
  return std::clamp<Duration>(left, std::chrono::milliseconds(1), kLongest);
}

net::Task<void> TextTurn::work_off(net::WorkerPool* pool, std::shared_ptr<Job> job) {
  std::function<void()> work = [job] {
    if (!job->claimed.exchange(true)) job->work();
  };
  co_await pool->run(std::move(work));
  job->done = true;
  job->client->wake.notify();
}

net::Task<Status> TextTurn::run(net::WorkerPool& pool, std::function<void()> work) {
  const auto job = std::make_shared<Job>();
  job->client = client_;
  job->work = std::move(work);
  owner_.spawn(work_off(&pool, job));
  while (!job->done) {
    Status wanted = check_wanted();
    if (!wanted.ok()) {
      if (!job->claimed.exchange(true)) job->work = nullptr;
      co_return wanted;
    }
    co_await client_->wake.wait(patience());
  }
  co_return check_wanted();
}

}  // namespace kantha::serve
