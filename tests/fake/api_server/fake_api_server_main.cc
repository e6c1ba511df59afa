#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "tests/fake/api_server/http_face.h"

/// kantha-fake-api-server [ADDRESS]: serves until SIGTERM; says "listening on ADDRESS" when ready.
int main(int argc, char** argv) {
  using namespace kantha;
  const std::string where = argc > 1 ? argv[1] : "127.0.0.1:0";
  const auto endpoint = net::parse_endpoint(where);
  if (!endpoint.ok()) {
    fmt::print(stderr, "{}\n", endpoint.error().to_string());
    return EXIT_FAILURE;
  }
  boost::asio::io_context context(1);
  fake::FakeApiServer server(context.get_executor(), system_clock());
  fake::HttpFace face(context.get_executor(), server);
  const auto bound = face.listen(*endpoint);
  if (!bound.ok()) {
    fmt::print(stderr, "{}\n", bound.error().to_string());
    return EXIT_FAILURE;
  }
  server.install_model_servings();
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);
  net::TaskGroup tasks(context.get_executor(), "collector");
  tasks.spawn(server.run_collector());
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const auto&, int) {
    server.stop();
    face.close();
  });
  context.run();
  return EXIT_SUCCESS;
}
