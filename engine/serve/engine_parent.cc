#include "engine/serve/engine_parent.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <utility>

#include "base/net/task.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "base/digest.h"
#include "base/log.h"
#include "base/net/http_client.h"
#include "base/net/task_group.h"

namespace kantha::serve {
namespace {

constexpr Duration kFileEvery = std::chrono::milliseconds(200);
constexpr Duration kLiveEvery = std::chrono::seconds(5);
constexpr Duration kLiveTimeout = std::chrono::milliseconds(500);

/// Ends the zombies of processes whose parents are gone; our own child is left to its owner.
void reap_orphans(pid_t own) {
  while (true) {
    siginfo_t info = {};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (info.si_pid == 0 || info.si_pid == own) return;
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

/// The watched file: hashed again only when it is another one.
class WatchedFile {
 public:
  explicit WatchedFile(std::string path) : path_(std::move(path)) {}

  /// Looks; true when the content is not what it was.
  bool look() {
    struct stat info = {};
    std::optional<std::string> hash;
    if (::stat(path_.c_str(), &info) == 0) {
      if (hash_ && info.st_ino == seen_.st_ino && info.st_size == seen_.st_size &&
          info.st_mtim.tv_sec == seen_.st_mtim.tv_sec &&
          info.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec) {
        return false;
      }
      seen_ = info;
      Result<std::string> read = sha256_hex_of_file(path_);
      if (read.ok()) hash = std::move(read).value();
    }
    return std::exchange(hash_, hash) != hash;
  }
  const std::optional<std::string>& hash() const { return hash_; }

 private:
  std::string path_;
  struct stat seen_ = {};
  std::optional<std::string> hash_;
};

}  // namespace

struct EngineParent::Body {
  Body(ParentOptions the_options, const Clock& the_clock)
      : options(std::move(the_options)),
        clock(the_clock),
        io(1),
        signals(io, SIGTERM, SIGINT),
        client(io.get_executor()),
        tasks(io.get_executor(), "engine parent"),
        file(options.config_path) {}

  void await_signal();
  net::Task<void> watch();
  net::Task<void> look_for_life();
  ParentInput observe();
  void look_at_file();
  void report(ParentPhase before);
  void act(ParentAction action);
  void start();

  ParentOptions options;
  const Clock& clock;
  boost::asio::io_context io;
  boost::asio::signal_set signals;
  net::HttpClient client;
  net::TaskGroup tasks;
  WatchedFile file;
  ParentState state;
  std::optional<Process> process;
  std::optional<std::string> start_error;
  ParentFacts facts;          ///< of the running engine
  ParentFacts next_facts;     ///< of the file as it is now
  bool file_runnable = true;  ///< the file as it is now
  TimePoint file_due{};
  TimePoint live_due{};
  bool alive_seen = false;
  int leave_signals = 0;
  bool hurry = false;
};

EngineParent::EngineParent(ParentOptions options, const Clock& clock)
    : body_(std::make_unique<Body>(std::move(options), clock)) {}

EngineParent::~EngineParent() = default;

void EngineParent::leave() { ++body_->leave_signals; }

int EngineParent::run() {
  // Also where we are not process 1: what the engine leaves behind comes to us.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  body_->await_signal();
  body_->tasks.spawn(body_->watch());
  body_->io.run();
  return body_->state.exit_status;
}

void EngineParent::Body::await_signal() {
  signals.async_wait([this](const boost::system::error_code& error, int number) {
    if (error) return;
    if (number == SIGINT) hurry = true;
    if (number == SIGTERM) ++leave_signals;
    await_signal();
  });
}

net::Task<void> EngineParent::Body::watch() {
  log_info("engine parent", {{"config", options.config_path}, {"message", state.message}});
  while (true) {
    const ParentInput input = observe();
    const ParentPhase before = state.phase;
    ParentOutput out = parent_step(std::move(state), input, options.policy);
    state = std::move(out.state);
    if (state.phase != before) report(before);
    for (const ParentAction action : out.actions) act(action);
    if (state.phase == ParentPhase::kDone) break;
    co_await look_for_life();
    co_await net::sleep_for(kParentTick);
  }
  signals.cancel();
}

ParentInput EngineParent::Body::observe() {
  ParentInput input;
  if (process) input.ended = process->poll();
  if (input.ended) process.reset();
  reap_orphans(process ? process->pid() : 0);
  look_at_file();
  input.now = clock.now();
  input.file_hash = file.hash();
  input.file_runnable = file_runnable;
  input.drain_timeout = facts.drain_timeout;
  input.start_failed = std::exchange(start_error, std::nullopt);
  input.sign_of_life = std::exchange(alive_seen, false);
  input.leave_signals = std::exchange(leave_signals, 0);
  input.hurry = std::exchange(hurry, false);
  return input;
}

void EngineParent::Body::look_at_file() {
  if (clock.now() < file_due) return;
  file_due = clock.now() + kFileEvery;
  if (!file.look() || !file.hash()) return;
  Result<ParentFacts> checked = options.check();
  file_runnable = checked.ok();
  if (checked.ok()) {
    next_facts = std::move(checked).value();
  } else if (process) {
    log_error("the new configuration cannot be run; the engine keeps the old one",
              {{"error", checked.error().to_string()}, {"hash", *file.hash()}});
  }
}

/// Asks a running engine for a sign of life, every few seconds.
net::Task<void> EngineParent::Body::look_for_life() {
  if (!process || clock.now() < live_due) co_return;
  live_due = clock.now() + kLiveEvery;
  if (!facts.endpoint) {
    alive_seen = true;  // nowhere to ask
    co_return;
  }
  net::HttpRequest request;
  request.target = "/live";
  const Result<net::HttpResponse> answer =
      co_await client.call(*facts.endpoint, std::move(request), kLiveTimeout);
  // 503 here says that only a restart would help.
  alive_seen = answer.ok() && answer->status == 200;
}

void EngineParent::Body::report(ParentPhase before) {
  const LogFields fields = {{"from", parent_phase_name(before)},
                            {"to", parent_phase_name(state.phase)},
                            {"message", state.message}};
  const bool failed = state.phase == ParentPhase::kDone && state.exit_status != 0;
  if (failed || state.phase == ParentPhase::kRefused) {
    log_error("engine parent", fields);
  } else {
    log_info("engine parent", fields);
  }
}

void EngineParent::Body::act(ParentAction action) {
  switch (action) {
    case ParentAction::kStart: return start();
    case ParentAction::kTerminate:
      if (process) process->signal(SIGTERM);
      return;
    case ParentAction::kKill:
      log_error("the engine is killed", {{"message", state.message}});
      if (process) process->signal(SIGKILL);
      return;
  }
}

void EngineParent::Body::start() {
  CHECK(!process.has_value(), "an engine runs already");
  facts = next_facts;
  live_due = clock.now() + kLiveEvery;
  ProcessSpec spec;
  spec.binary = options.binary;
  spec.args = {"--restarts", std::to_string(state.starts - 1), "--last-end",
               std::string(engine_end_name(state.last_end))};
  spec.args.insert(spec.args.end(), options.arguments.begin(), options.arguments.end());
  Result<Process> started = Process::spawn(spec);
  if (!started.ok()) {
    start_error = started.error().message;
    return;
  }
  process = std::move(started).value();
  log_info(
      "engine started",
      {{"pid", process->pid()}, {"restarts", state.starts - 1}, {"config_hash", state.file_hash}});
}

}  // namespace kantha::serve
