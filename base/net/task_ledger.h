#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include "base/net/task.h"

#include "base/net/task_group.h"

/// The count behind a TaskGroup. Library pieces whose coroutines end on their own after close()
/// (the HTTP server's sessions) use it directly, since they may outlive the object that began them.
namespace kantha::net {

class TaskLedger : public std::enable_shared_from_this<TaskLedger> {
 public:
  TaskLedger(boost::asio::any_io_executor executor, std::string name);
  /// Starts the task with the executor's next turn. An exception that leaves it is logged.
  void spawn(Task<void> task);
  std::size_t running() const { return running_; }
  static Task<void> join(std::shared_ptr<TaskLedger> self);

 private:
  class Entry;
  static Task<void> run(std::shared_ptr<TaskLedger> self, Task<void> task);

  boost::asio::any_io_executor executor_;
  std::string name_;
  Notify ended_;
  std::size_t running_ = 0;
};

}  // namespace kantha::net
