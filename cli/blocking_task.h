#pragma once

#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "base/net/task_group.h"
#include "base/result.h"

/// Runs one coroutine to its end for verbs that do one thing. Main thread.
namespace kantha::cli {

template <class T>
net::Task<void> store_result(net::Task<Result<T>> task, std::optional<Result<T>>& out) {
  out.emplace(co_await std::move(task));
}

/// Runs the context until the task has ended, and gives its result.
template <class T>
Result<T> run_blocking(boost::asio::io_context& context, net::Task<Result<T>> task) {
  net::TaskGroup tasks(context.get_executor(), "verb");
  std::optional<Result<T>> out;
  tasks.spawn(store_result(std::move(task), out));
  context.restart();
  while (tasks.running() > 0 && context.run_one() > 0) {
  }
  if (!out) return internal_error("the call was given up");
  return std::move(*out);
}

}  // namespace kantha::cli
