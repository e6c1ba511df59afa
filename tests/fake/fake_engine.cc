// An engine that does what its configuration says, for tests of those who look after engines.
//   {"fake": {"exit_code": 2, "exit_after_ms": 50, "ready": false, "ignore_term": true}}
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/json.h"
#include "base/net/http_server.h"
#include "base/net/task_group.h"
#include "base/process.h"

namespace kantha {
namespace {

struct Behaviour {
  int exit_code = -1;
  int exit_after_ms = 0;
  bool ready = true;
  bool ignore_term = false;
};

Behaviour read_behaviour(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const Result<Json> json = parse_json(text.str());
  CHECK(json.ok(), "the test wrote bad JSON");
  const Json fake = json->value("fake", Json::object());
  return {fake.value("exit_code", -1), fake.value("exit_after_ms", 0), fake.value("ready", true),
          fake.value("ignore_term", false)};
}

net::Task<void> exit_later(int after_ms, int code) {
  co_await net::sleep_for(std::chrono::milliseconds(after_ms));
  std::_Exit(code);
}

net::Task<void> answer(bool ready, net::HttpRequest request, net::ResponseWriter& writer) {
  net::HttpResponse response;
  if (request.path() == "/ready") {
    response.status = ready ? 200 : 503;
  } else if (request.path() == "/admin/v1/state") {
    response.body = R"({"version":"fake","kv":{"blocks_total":10,"blocks_free":10}})";
  } else {
    response.body = request.body;
  }
  const Status sent = co_await writer.send(std::move(response));
  static_cast<void>(sent);  // a test client may leave
}

int run(const std::string& config, const std::string& listen) {
  const Behaviour behaviour = read_behaviour(config);
  boost::asio::io_context context(1);
  net::HttpServer server(context.get_executor(),
                         [&](net::HttpRequest request, net::ResponseWriter& writer) {
                           return answer(behaviour.ready, std::move(request), writer);
                         });
  const Result<net::Endpoint> endpoint = net::parse_endpoint(listen);
  CHECK(endpoint.ok() && server.listen(*endpoint).ok(), "cannot listen");
  net::TaskGroup group(context.get_executor(), "fake");
  if (behaviour.exit_code >= 0) {
    group.spawn(exit_later(behaviour.exit_after_ms, behaviour.exit_code));
  }
  boost::asio::signal_set signals(context, SIGTERM);
  if (!behaviour.ignore_term) {
    signals.async_wait([](const boost::system::error_code&, int) { std::_Exit(0); });
  }
  context.run();
  return 0;
}

}  // namespace
}  // namespace kantha

int main(int argc, char** argv) {
  kantha::watch_lifeline();
  std::string config;
  std::string listen;
  for (int i = 1; i + 1 < argc; i += 2) {
    (std::string(argv[i]) == "--config" ? config : listen) = argv[i + 1];
  }
  return kantha::run(config, listen);
}
