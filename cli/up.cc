#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/clock.h"
#include "base/net/task_group.h"
#include "cli/chat_client.h"
#include "cli/pod_table.h"
#include "cli/screen.h"
#include "cli/up_words.h"
#include "cli/verbs.h"
#include "operator/local/local_world.h"

namespace kantha::cli {
namespace {

/// The same question gets the same answer.
constexpr int kPromptMaxTokens = 512;
constexpr double kPromptTemperature = 0;
/// timeout(1) and some supervisors send one signal to the process and again to its group.
constexpr Duration kSameSignalWithin = std::chrono::milliseconds(250);

struct UpOptions {
  std::string file;
  std::string listen = "127.0.0.1:8000";
  std::string prompt;
  bool has_prompt = false;
  bool quiet = false;
  int ready_timeout_s = 600;
};

/// One run of `kantha up`: the world, what it prints, the signals, the one prompt.
class UpRun {
 public:
  UpRun(const UpOptions& options, local::WorldOptions world)
      : options_(options),
        clock_(system_clock()),
        start_(clock_.now()),
        // With --prompt, standard output is for the answer alone.
        screen_(options.has_prompt ? stderr : stdout,
                !options.quiet && isatty(options.has_prompt ? 2 : 1) != 0),
        tasks_(context_.get_executor(), "up"),
        signals_(context_, SIGINT, SIGTERM),
        ready_(context_.get_executor()),
        world_(context_.get_executor(), clock_, std::move(world),
               {[this](const local::WorldView& view) { changed(view); },
                [this](const std::string& text) { notice(text); }}) {}

  int run() {
    if (const Status opened = world_.open(); !opened.ok()) {
      std::fprintf(stderr, "%s\n", opened.error().message.c_str());
      return opened.error().code == Code::kInvalidArgument ? kExitUsage : kExitFailed;
    }
    watch_hangup();
    watch_signals();
    tasks_.spawn(serve());
    if (options_.has_prompt) tasks_.spawn(ask());
    context_.run();
    screen_.clear();
    return exit_;
  }

 private:
  /// A terminal that goes away ends the world, unless nohup asked for the contrary.
  void watch_hangup() {
    struct sigaction now{};
    if (sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) signals_.add(SIGHUP);
  }

  void watch_signals() {
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      take_signal();
      watch_signals();
    });
  }

  void take_signal() {
    const TimePoint now = clock_.now();
    if (signalled_at_ && now - *signalled_at_ < kSameSignalWithin) return;
    // Whoever asked one question and gives up on it does not want to wait for its end.
    const bool at_once = signalled_at_ || (options_.has_prompt && !answered_);
    if (options_.has_prompt && !answered_) exit_ = kExitFailed;
    signalled_at_ = now;
    notice(at_once ? "ending now" : "ending; again to end at once");
    stop();
    if (at_once) world_.stop();
  }

  void stop() {
    stopping_ = true;
    world_.stop();
    ready_.notify();
  }

  net::Task<void> serve() {
    co_await world_.run();
    over_ = true;
    signals_.cancel();
    ready_.notify();
  }

  void notice(const std::string& text) {
    if (screen_.live()) {
      screen_.say(text);
    } else {
      std::fprintf(stderr, "%s\n", text.c_str());
    }
  }

  void changed(const local::WorldView& view) {
    ready_.notify();
    screen_.show(pod_table(view));
    if (!screen_.live() && !options_.quiet) {
      for (const std::string& line : changes_between(shown_, view)) screen_.say(line);
    }
    const bool had_pods = shown_.name.empty() || shown_.counts.wanted > 0;
    if (view.counts.wanted == 0 && had_pods && !stopping_) screen_.say(vacant_line(view));
    shown_ = view;
    if (told_ready_ || view.status_of("Available") != serving::ConditionStatus::kTrue) return;
    told_ready_ = true;
    screen_.say(ready_line(view, clock_.now() - start_));
    if (!options_.quiet && !options_.has_prompt) screen_.say(usage_example(view));
  }

  /// Waits for a pod; the error says why there will be none.
  net::Task<Status> wait_ready() {
    const TimePoint until = start_ + std::chrono::seconds(options_.ready_timeout_s);
    while (!told_ready_) {
      if (stopping_ || over_) co_return Error{Code::kCancelled, "ended before a pod was ready"};
      std::string why = shown_.name.empty() ? std::string() : hopeless(shown_);
      if (!why.empty()) co_return unavailable("no pod will be ready: " + why);
      if (clock_.now() >= until) {
        co_return Error{
            Code::kDeadlineExceeded,
            "no pod was ready within " + std::to_string(options_.ready_timeout_s) + " s"};
      }
      co_await ready_.wait(std::chrono::milliseconds(500));
    }
    co_return ok_status();
  }

  net::Task<void> ask() {
    const Status answered = co_await answer_prompt();
    if (!answered.ok()) {
      exit_ = kExitFailed;
      notice("kantha up: " + answered.error().message);
    }
    answered_ = answered.ok();
    if (!stopping_) stop();
  }

  net::Task<Status> answer_prompt() {
    const Status ready = co_await wait_ready();
    if (!ready.ok()) {
      const std::string tail = world_.log_tail();
      if (!tail.empty()) notice(tail);
      co_return ready.error();
    }
    CO_TRY(net::Endpoint endpoint, parse_base_url(shown_.endpoint));
    net::HttpClient client(context_.get_executor());
    CO_TRY(const ListedModel model, co_await find_model(client, endpoint, shown_.model));
    const ChatSetting setting{.max_tokens = fitting_max_tokens(kPromptMaxTokens, model.window),
                              .temperature = kPromptTemperature};
    Json message = {{"role", "user"}, {"content", options_.prompt}};
    Json messages = Json::array({std::move(message)});
    bool has_printed = false;
    OnText print = [&has_printed](std::string_view piece) {
      has_printed = true;
      std::fwrite(piece.data(), 1, piece.size(), stdout);
      std::fflush(stdout);
    };
    Result<std::string> answer = co_await stream_chat(
        client, endpoint, shown_.model, std::move(messages), setting, std::move(print));
    if (answer.ok() || has_printed) std::printf("\n");
    std::fflush(stdout);  // before the lines about the end, where both are one terminal
    if (!answer.ok()) co_return std::move(answer).error();
    co_return ok_status();
  }

  const UpOptions& options_;
  const Clock& clock_;
  TimePoint start_;
  Screen screen_;
  boost::asio::io_context context_{1};
  net::TaskGroup tasks_;
  boost::asio::signal_set signals_;
  net::Notify ready_;
  local::WorldView shown_;
  std::optional<TimePoint> signalled_at_;
  bool told_ready_ = false;
  bool stopping_ = false;
  bool over_ = false;
  bool answered_ = false;
  int exit_ = kExitDone;
  local::LocalWorld world_;
};

int run_up(const UpOptions& options) {
  const Result<net::Endpoint> listen = net::parse_endpoint(options.listen);
  if (!listen.ok() || listen->is_unix()) {
    fail("up", "--listen: expected HOST:PORT, got \"" + options.listen + "\"");
    return kExitUsage;
  }
  if (!is_loopback(listen->host)) {
    std::fprintf(stderr, "warning: %s can be reached from other machines, without a password\n",
                 options.listen.c_str());
  }
  Result<local::Places> places = local::find_places(local::process_environment());
  if (!places.ok()) return fail("up", places.error().message);
  UpRun run(options, {options.file, *listen, std::move(places).value()});
  return run.run();
}

}  // namespace

void add_up(CLI::App& app, Verb& chosen) {
  auto options = std::make_shared<UpOptions>();
  CLI::App* verb = app.add_subcommand(
      "up", "Run a ModelServing on this machine, with processes for pods, until Ctrl-C");
  verb->add_option("-f,--file", options->file, "The ModelServing's YAML file")->required();
  verb->add_option("--listen", options->listen, "HOST:PORT of the API; port 0 takes a free one")
      ->capture_default_str();
  CLI::Option* prompt = verb->add_option("--prompt", options->prompt,
                                         "Ask this once ready, print the answer alone, and end");
  verb->add_option("--ready-timeout", options->ready_timeout_s, "Seconds that --prompt waits")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  verb->add_flag("-q,--quiet", options->quiet, "Only the ready line");
  verb->callback([options, prompt, &chosen] {
    options->has_prompt = prompt->count() > 0;
    chosen = [options] { return run_up(*options); };
  });
}

}  // namespace kantha::cli
