#pragma once

#include <sys/types.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include "base/net/task.h"

#include "base/net/http_server.h"

/// Two ends of real loopback connections: our server on a thread of its own, and a raw peer that
/// sends exactly the bytes that a test gives it.
namespace kantha::net {

/// How long a test waits for something that should happen at once.
inline constexpr int kPatienceMs = 5000;

/// Polls until `condition` holds; false when patience ends first.
bool eventually(const std::function<bool()>& condition);

/// A folder that is removed with its content.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// An HttpServer on 127.0.0.1 (port 0) or a given endpoint, with its io_context on one thread.
class LoopbackServer {
 public:
  explicit LoopbackServer(HttpHandler handler, HttpLimits limits = {},
                          Endpoint listen_on = {.host = "127.0.0.1"});
  ~LoopbackServer();

  const Endpoint& endpoint() const { return endpoint_; }
  /// Runs `work` on the server's thread and gives its result.
  template <class F>
  auto on_loop(F work) {
    std::packaged_task<std::invoke_result_t<F>()> task(std::move(work));
    auto result = task.get_future();
    boost::asio::post(io_, [&task] { task(); });
    return result.get();
  }
  HttpServer& server() { return *server_; }
  boost::asio::io_context& io() { return io_; }
  std::size_t open_connections();
  std::size_t active_requests();

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::unique_ptr<HttpServer> server_;
  Endpoint endpoint_;
  std::thread thread_;
};

/// A blocking socket with a receive timeout. Reads give what came before end, error or timeout.
class RawPeer {
 public:
  explicit RawPeer(const Endpoint& endpoint);
  /// Takes an accepted descriptor.
  explicit RawPeer(int fd);
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  /// False when the peer no longer takes bytes.
  bool send(std::string_view bytes);
  /// Everything up to and including `end`; all there was when it did not come.
  std::string read_until(std::string_view end);
  /// Everything until the peer closes.
  std::string read_to_end();
  /// One answer: head and as many body bytes as its Content-Length says.
  std::string read_answer();
  /// True when the peer's end comes within patience (bytes before it are dropped).
  bool sees_end();
  void shutdown_send();
  void close();
  int fd() const { return fd_; }

 private:
  bool read_more();
  int fd_ = -1;
  std::string buffer_;
};

/// A listening socket on 127.0.0.1 whose connections a test's script answers, one after the other.
class ScriptedServer {
 public:
  /// `script` gets each connection with its number from 0, on the server's own thread.
  explicit ScriptedServer(std::function<void(RawPeer& peer, int number)> script);
  ~ScriptedServer();
  const Endpoint& endpoint() const { return endpoint_; }
  int connection_count() const { return count_; }

 private:
  int listen_fd_ = -1;
  Endpoint endpoint_;
  std::atomic<int> count_ = 0;
  std::thread thread_;
};

/// Runs `task` to its end on `io` (kept by the caller for several) and gives its value.
template <class T>
Task<void> store_result(Task<T> task, std::optional<T>* into) {
  into->emplace(co_await std::move(task));
}
template <class T>
T run_on(boost::asio::io_context& io, Task<T> task) {
  std::optional<T> result;
  std::exception_ptr failure;
  boost::asio::co_spawn(io, store_result(std::move(task), &result),
                        [&failure](std::exception_ptr error) { failure = error; });
  io.restart();
  while (!result && !failure && io.run_one() > 0) {
  }
  io.poll();
  if (failure) std::rethrow_exception(failure);
  return *std::move(result);
}

}  // namespace kantha::net
