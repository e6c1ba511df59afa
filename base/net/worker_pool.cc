#include <exception>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include "base/net/task_group.h"

#include "base/check.h"

namespace kantha::net {
namespace asio = boost::asio;

struct WorkerPool::Body {
  Task<void> run(std::function<void()> work);

  asio::thread_pool threads;
};

Task<void> WorkerPool::Body::run(std::function<void()> work) {
  auto begin = [this](auto handler, std::function<void()> job) {
    const auto home = asio::get_associated_executor(handler);
    // Counts as work of the caller's context, which would otherwise end its run() meanwhile.
    auto guard = asio::make_work_guard(home);
    asio::post(threads, [home, guard = std::move(guard), handler = std::move(handler),
                         job = std::move(job)]() mutable {
      std::exception_ptr failure;
      try {
        job();
      } catch (...) {
        failure = std::current_exception();
      }
      job = nullptr;
      asio::post(home, [handler = std::move(handler), failure = std::move(failure)]() mutable {
        std::move(handler)(std::move(failure));
      });
    });
  };
  auto done = asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      std::move(begin), asio::use_awaitable, std::move(work));
  co_await std::move(done);
}

WorkerPool::WorkerPool(int threads) : body_(new Body{.threads{static_cast<std::size_t>(threads)}}) {
  CHECK(threads > 0, "a worker pool has threads");
}

WorkerPool::~WorkerPool() { body_->threads.join(); }

Task<void> WorkerPool::run(std::function<void()> work) { return body_->run(std::move(work)); }

}  // namespace kantha::net
