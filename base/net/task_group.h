#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "base/clock.h"
#include "base/net/task.h"

/// Owners of coroutines and the two ways in which they wait. One executor; not thread-safe.
namespace kantha::net {

/// Owns spawned coroutines; every spawn in the tree goes through one. An exception that leaves a
/// task is logged and counted, never lost. The destructor CHECKs that all tasks have ended.
class TaskGroup {
 public:
  explicit TaskGroup(boost::asio::any_io_executor executor, std::string name);
  ~TaskGroup();
  void spawn(Task<void> task);
  std::size_t running() const;
  /// Returns when every task has ended.
  Task<void> join();

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

/// Wakes coroutines: `notify` wakes all that wait now. Level is kept by the user's own state.
class Notify {
 public:
  explicit Notify(boost::asio::any_io_executor executor);
  ~Notify();
  void notify();
  /// True when notified, false when the timeout passed first.
  Task<bool> wait(Duration timeout);

 private:
  struct Body;
  std::shared_ptr<Body> body_;
};

/// Suspends for that long on the current executor.
Task<void> sleep_for(Duration duration);

/// Runs `work` on a small pool of worker threads (text work that would stall the I/O thread) and
/// resumes on the calling executor.
class WorkerPool {
 public:
  explicit WorkerPool(int threads);
  ~WorkerPool();
  Task<void> run(std::function<void()> work);

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace kantha::net
