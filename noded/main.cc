#include <csignal>
#include <cstdio>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/log.h"
#include "base/process.h"
#include "base/version.h"
#include "noded/activator/activator_daemon.h"
#include "noded/options.h"
#include "noded/pod_daemon.h"

namespace kantha::noded {
namespace {

/// Calls shut_down on every SIGTERM and SIGINT.
template <class Daemon>
class SignalWatch {
 public:
  SignalWatch(boost::asio::io_context& context, Daemon& daemon)
      : signals_(context, SIGTERM, SIGINT), daemon_(daemon) {
    wait();
  }

 private:
  void wait() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      daemon_.shut_down();
      wait();
    });
  }

  boost::asio::signal_set signals_;
  Daemon& daemon_;
};

void run_to_end(boost::asio::io_context& context) {
  context.run();
  // Lets tasks that ended in the last turn report it to their owners.
  context.restart();
  context.poll();
}

int run_activator(int argc, const char* const* argv) {
  std::string help;
  const Result<ActivatorOptions> options = parse_activator_options(argc, argv, help);
  if (!options.ok()) {
    std::fprintf(stderr, "kantha-noded: %s\n", options.error().message.c_str());
    return 2;
  }
  if (!help.empty()) {
    std::printf("%s\n", help.c_str());
    return 0;
  }
  boost::asio::io_context context(1);
  ActivatorDaemon daemon(context, *options, system_clock());
  const SignalWatch watch(context, daemon);
  if (const auto started = daemon.start(); !started.ok()) {
    log_error("activator could not start", {{"error", started.error().to_string()}});
    return 1;
  }
  run_to_end(context);
  return 0;
}

int run(int argc, const char* const* argv) {
  if (wants_activator(argc, argv)) return run_activator(argc, argv);
  std::string help;
  const Result<Options> options = parse_options(argc, argv, help);
  if (!options.ok()) {
    std::fprintf(stderr, "kantha-noded: %s\n", options.error().message.c_str());
    return 2;
  }
  if (!help.empty() || options->show_version) {
    std::printf("%s\n", help.empty() ? std::string(version()).c_str() : help.c_str());
    return 0;
  }
  boost::asio::io_context context(1);
  PodDaemon daemon(context, *options, system_clock());
  const SignalWatch watch(context, daemon);
  if (const Status started = daemon.start(); !started.ok()) {
    log_error("pod could not start", {{"error", started.error().to_string()}});
    return 1;
  }
  run_to_end(context);
  return 0;
}

}  // namespace
}  // namespace kantha::noded

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  kantha::set_log_program("noded");
  kantha::watch_lifeline();
  return kantha::noded::run(argc, argv);
}
