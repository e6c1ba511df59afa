/// A kantha-noded without an engine, for tests of whoever starts nodeds. It takes the real command
/// line, answers the admin API, and serves a little of the OpenAI API on the shared socket.
///
/// It obeys words in <admin socket's folder>/fake: "slow" (ready after 300 ms), "never" (never
/// ready), "die" (exits with 3 after 50 ms), "crash_loop" (says so). POST /fake/die on the admin
/// socket ends it with 4. Its KV pressure is the number in the file "pressure" beside "fake", where
/// there is one; another word there: it has no numbers of its engine. Like the real one it exits by
/// itself when drained.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/net/http_server.h"
#include "base/net/sse.h"
#include "base/net/task_group.h"
#include "base/process.h"
#include "noded/api/pod_state.h"

namespace kantha {
namespace {

using namespace std::chrono_literals;
using Flags = std::map<std::string, std::string>;

class FakeNoded {
 public:
  FakeNoded(boost::asio::io_context& context, Flags flags)
      : context_(context), flags_(std::move(flags)), tasks_(context.get_executor(), "fake") {
    state_.pod = flags_["--pod"];
    state_.model = flags_["--model"];
    state_.version = "fake";
    state_.engine_pid = getpid();
    state_.kv_blocks_total = 100;
    state_.kv_blocks_active = 25;
    const std::string socket = flags_["--admin"].substr(5);
    std::ifstream(socket.substr(0, socket.rfind('/')) + "/../fake") >> word_;
  }

  bool start() {
    const auto handler = [this](net::HttpRequest request, net::ResponseWriter& writer) {
      return answer(std::move(request), writer);
    };
    admin_ = std::make_unique<net::HttpServer>(context_.get_executor(), handler);
    open_ = std::make_unique<net::HttpServer>(context_.get_executor(), handler);
    net::Endpoint endpoint;
    endpoint.unix_path = flags_["--admin"].substr(5);
    if (!admin_->listen(endpoint).ok()) return false;
    if (!open_->adopt(std::stoi(flags_["--listen-fd"])).ok()) return false;
    tasks_.spawn(load());
    return true;
  }

  void shut_down() {
    if (draining_) std::_Exit(0);
    draining_ = true;
    tasks_.spawn(drain());
  }

 private:
  net::Task<void> load() {
    state_.phase = noded::EnginePhase::kStarting;
    state_.config_hash = sha256_hex_of_file(flags_["--engine-config"]).value();
    if (word_ == "die") {
      co_await net::sleep_for(50ms);
      std::_Exit(3);
    }
    if (word_ == "slow") co_await net::sleep_for(300ms);
    if (word_ == "crash_loop") {
      state_.phase = noded::EnginePhase::kCrashLoop;
      state_.message = "engine ended 3 times";
    } else if (word_ != "never") {
      state_.phase = noded::EnginePhase::kReady;
    }
  }

  void read_pressure() {
    const std::string socket = flags_["--admin"].substr(5);
    std::ifstream file(socket.substr(0, socket.rfind('/')) + "/../pressure");
    if (!file) return;
    const bool is_number = static_cast<bool>(file >> state_.kv_pressure);
    state_.kv_blocks_total = is_number ? 100 : 0;
  }

  net::Task<void> restart() {
    co_await net::sleep_for(100ms);
    ++state_.engine_restarts;
    co_await load();
  }

  net::Task<void> drain() {
    state_.phase = noded::EnginePhase::kDraining;
    co_await open_->drain(std::chrono::seconds(std::stoi(flags_["--drain-timeout-seconds"])));
    co_await net::sleep_for(20ms);
    std::_Exit(0);
  }

  net::Task<void> answer(net::HttpRequest request, net::ResponseWriter& writer) {
    net::HttpResponse response;
    response.headers.set("Content-Type", "application/json");
    if (request.target == "/admin/v1/state") {
      read_pressure();
      const auto idle = system_clock().now() - busy_at_;
      state_.idle_ms = state_.streams > 0
                           ? 0
                           : std::chrono::duration_cast<std::chrono::milliseconds>(idle).count();
      response.body = dump_json(noded::to_json(state_));
    } else if (request.target == "/admin/v1/drain") {
      shut_down();
    } else if (request.target == "/admin/v1/restart-engine") {
      tasks_.spawn(restart());
    } else if (request.target == "/fake/die") {
      std::_Exit(4);
    } else if (request.target == "/v1/chat/completions") {
      co_await chat(std::move(request), writer);
      co_return;
    } else {
      response.body = dump_json(Json{{"pod", state_.pod}});
    }
    (void)co_await writer.send(std::move(response));
  }

  /// Says the last message back in two pieces; "slowly" takes 1.4 s, "forever" an hour, "break"
  /// cuts the stream.
  net::Task<void> chat(net::HttpRequest request, net::ResponseWriter& writer) {
    ++state_.streams;
    const Json body = Json::parse(request.body);
    const std::string text = body["messages"].back()["content"];
    net::Headers headers{{"Content-Type", "text/event-stream"}};
    (void)co_await writer.start(200, std::move(headers));
    for (const std::string& piece : {std::string("echo "), text}) {
      const Json delta = {{"content", piece}};
      const Json choice = {{"index", 0}, {"delta", delta}};
      const Json chunk = {{"choices", Json::array({choice})}};
      (void)co_await writer.write(net::sse_data(dump_json(chunk)));
      if (text == "slowly") co_await net::sleep_for(700ms);
      if (text == "forever") co_await net::sleep_for(1h);
      if (text == "break") {
        writer.abort();
        co_return;
      }
    }
    (void)co_await writer.write(net::sse_data("[DONE]"));
    (void)co_await writer.finish();
    --state_.streams;
    busy_at_ = system_clock().now();
  }

  boost::asio::io_context& context_;
  Flags flags_;
  net::TaskGroup tasks_;
  noded::PodState state_;
  std::string word_;
  TimePoint busy_at_ = system_clock().now();
  std::unique_ptr<net::HttpServer> admin_;
  std::unique_ptr<net::HttpServer> open_;
  bool draining_ = false;
};

}  // namespace
}  // namespace kantha

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  kantha::watch_lifeline();
  kantha::Flags flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  boost::asio::io_context context(1);
  kantha::FakeNoded fake(context, flags);
  if (!fake.start()) return 1;
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) fake.shut_down();
  });
  context.run();
  std::_Exit(0);
}
