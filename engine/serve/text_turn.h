#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/net/task.h"

#include "base/clock.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "base/result.h"

namespace kantha::serve {

/// One request's turns at the text workers, which last as long as others' texts are long. Neither a
/// client that leaves nor a deadline that passes waits for them: the request goes on at once, and
/// the work is dropped, or finished for nobody if it has begun. I/O thread.
class TextTurn {
 public:
  /// `owner` keeps the coroutines of work that was left; it outlives every turn. Takes the writer's
  /// on_client_gone.
  TextTurn(net::TaskGroup& owner, boost::asio::any_io_executor executor, const Clock& clock,
           net::ResponseWriter& writer);

  /// From now on kDeadlineExceeded `passed` when `deadline` comes first.
  void set_deadline(TimePoint deadline, Error passed);
  /// Runs `work` on `pool`. kCancelled when the client left, `passed` when time was up: then the
  /// work may still run, so that it must own what it touches.
  net::Task<Status> run(net::WorkerPool& pool, std::function<void()> work);
  /// Is the answer still wanted?
  Status check_wanted() const;

 private:
  struct Client;
  struct Job;
  static net::Task<void> work_off(net::WorkerPool* pool, std::shared_ptr<Job> job);
  Duration patience() const;

  net::TaskGroup& owner_;
  const Clock& clock_;
  const std::shared_ptr<Client> client_;
  std::optional<TimePoint> deadline_;
  std::optional<Error> passed_;
};

}  // namespace kantha::serve
