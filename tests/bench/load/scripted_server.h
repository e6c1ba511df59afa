#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/json.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"

/// Servers on loopback that answer as a test wants, honest and otherwise.
namespace kantha::bench {

/// How an honest server behaves, and small lies.
struct Script {
  int status = 200;  ///< of completions; not 200: `body` is the answer
  std::string body = {};
  std::string content_type = "text/event-stream";
  bool has_usage = true;
  bool has_end_mark = true;
  bool has_finish = true;
  bool has_tokenize = true;
  bool has_metrics = true;
  int tokens_per_word = 2;
  int tokens_beside = 10;
  int chunk_every_ms = 0;                       ///< before each chunk
  int chunks_max = -1;                          ///< ends after so many; -1: as many as asked for
  int repeat_chunks = 1;                        ///< sends each so many times
  std::optional<std::string> extra_event = {};  ///< before the end
  bool cuts = false;                            ///< breaks off instead of ending
  bool stalls = false;                          ///< never ends after the last chunk
  std::size_t fail_first = 0;                   ///< so many completions get HTTP 500
};

/// An OpenAI-compatible server: /v1/models, /tokenize, /metrics, both completions.
class ScriptedServer {
 public:
  ScriptedServer(boost::asio::io_context& context, Script script);
  ~ScriptedServer();

  const net::Endpoint& endpoint() const { return endpoint_; }
  std::string url() const { return "http://" + endpoint_.to_string(); }
  /// Bodies of the completion requests, in order of arrival.
  const std::vector<Json>& requests() const { return requests_; }
  int running_peak() const { return running_peak_; }

 private:
  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer);
  net::Task<void> complete(net::HttpRequest request, net::ResponseWriter& writer);
  net::Task<void> stream(Json request, net::ResponseWriter& writer);
  std::string usage(const Json& request, int chunks) const;

  boost::asio::io_context& context_;
  Script script_;
  net::HttpServer server_;
  net::Endpoint endpoint_;
  std::vector<Json> requests_;
  int running_ = 0;
  int running_peak_ = 0;
};

/// A server that writes raw bytes after the head of any request has come.
class RawServer {
 public:
  /// What becomes of the second request on a connection: it is read, and then the connection
  /// closed.
  struct Parting {
    std::string bytes = {};  ///< before the close
    int after_ms = 0;
  };
  struct Answer {
    std::string first;
    std::string then_for_ever = {};  ///< again and again; empty: once `first`, then nothing
    bool closes = true;              ///< after `first`; else silence
    std::optional<Parting> parting = {};
  };
  RawServer(boost::asio::io_context& context, Answer answer);
  ~RawServer();
  const net::Endpoint& endpoint() const { return endpoint_; }
  std::string url() const { return "http://" + endpoint_.to_string(); }
  int connection_count() const { return connection_count_; }

 private:
  net::Task<void> accept_loop();
  net::Task<void> serve(boost::asio::ip::tcp::socket socket);

  boost::asio::io_context& context_;
  Answer answer_;
  boost::asio::ip::tcp::acceptor acceptor_;
  net::Endpoint endpoint_;
  net::TaskGroup tasks_;
  net::Notify ended_;
  int connection_count_ = 0;
  bool is_closed_ = false;
};

/// Runs the context until the task has ended.
template <class T>
net::Task<void> keep_result(net::Task<T> task, std::optional<T>* out) {
  out->emplace(co_await std::move(task));
}
template <class T>
T run_until_done(boost::asio::io_context& context, net::Task<T> task) {
  std::optional<T> out;
  net::TaskGroup tasks(context.get_executor(), "test");
  tasks.spawn(keep_result(std::move(task), &out));
  context.restart();
  while (tasks.running() > 0 && context.run_one() > 0) {
  }
  return std::move(out).value();
}

}  // namespace kantha::bench
