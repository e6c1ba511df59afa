#include "base/net/task_group.h"

#include <exception>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "base/check.h"
#include "base/log.h"
#include "base/net/task_ledger.h"

namespace kantha::net {
namespace asio = boost::asio;

/// One running task; its end counts however the coroutine ends, also when its context is destroyed.
class TaskLedger::Entry {
 public:
  explicit Entry(std::shared_ptr<TaskLedger> ledger) : ledger_(std::move(ledger)) {
    ++ledger_->running_;
  }
  ~Entry() {
    if (!ledger_) return;
    --ledger_->running_;
    ledger_->ended_.notify();
  }
  Entry(Entry&& other) noexcept = default;
  Entry& operator=(Entry&&) = delete;

 private:
  std::shared_ptr<TaskLedger> ledger_;
};

TaskLedger::TaskLedger(asio::any_io_executor executor, std::string name)
    : executor_(executor), name_(std::move(name)), ended_(std::move(executor)) {}

void TaskLedger::spawn(Task<void> task) {
  // The entry sits in the completion handler, so that it goes after the task's frames.
  auto entry = std::make_shared<Entry>(shared_from_this());
  asio::co_spawn(
      executor_, run(shared_from_this(), std::move(task)),
      [entry](std::exception_ptr failure) { CHECK(failure == nullptr, "run catches everything"); });
}

Task<void> TaskLedger::run(std::shared_ptr<TaskLedger> self, Task<void> task) {
  std::string failure;
  try {
    co_await std::move(task);
    co_return;
  } catch (const std::exception& error) {
    failure = error.what();
  } catch (...) {
    failure = "not a std::exception";
  }
  log_error("task failed", {{"group", self->name_}, {"error", failure}});
}

Task<void> TaskLedger::join(std::shared_ptr<TaskLedger> self) {
  while (self->running_ > 0) {
    // The bound is only a heartbeat: every end of a task notifies.
    co_await self->ended_.wait(std::chrono::seconds(60));
  }
}

struct TaskGroup::Body {
  std::shared_ptr<TaskLedger> ledger;
};

TaskGroup::TaskGroup(asio::any_io_executor executor, std::string name)
    : body_(std::make_shared<Body>(
          std::make_shared<TaskLedger>(std::move(executor), std::move(name)))) {}

TaskGroup::~TaskGroup() { CHECK(running() == 0, "a task group is joined before it goes"); }

void TaskGroup::spawn(Task<void> task) { body_->ledger->spawn(std::move(task)); }
std::size_t TaskGroup::running() const { return body_->ledger->running(); }
Task<void> TaskGroup::join() { return TaskLedger::join(body_->ledger); }

}  // namespace kantha::net
