#include "base/net/task.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/net/task_group.h"
#include "bench/engine/allocation_count.h"
#include "bench/engine/null_forward.h"
#include "engine/exec/engine_loop.h"
#include "engine/serve/live_request.h"

/// kantha-step-bench [-s STREAMS] [-n STEPS]: what a step costs on the engine thread beside the
/// forward pass: a real engine loop and the server's own event sinks, a forward that computes
/// nothing.
namespace kantha::bench {
namespace {

constexpr std::int32_t kVocabulary = 49152;
constexpr std::int32_t kContext = 1 << 14;
constexpr std::int32_t kWarmUpSteps = 50;

/// The door as the sinks see it.
class InboxPort final : public gateway::EnginePort {
 public:
  explicit InboxPort(gateway::Inbox& inbox) : inbox_(inbox) {}
  gateway::EngineLimits limits() const override { return inbox_.limits(); }
  Status precheck(gateway::QueueDemand demand) const override { return inbox_.precheck(demand); }
  Status submit(sched::GenerateSpec spec, std::shared_ptr<sched::EventSink> sink) override {
    return inbox_.submit(std::move(spec), std::move(sink));
  }
  void abort(RequestId id) override { inbox_.abort(id); }
  gateway::EngineStats stats() const override { return inbox_.stats(); }

 private:
  gateway::Inbox& inbox_;
};

/// The I/O side: a thread with one reader per stream.
class Readers {
 public:
  explicit Readers(gateway::EnginePort& engine)
      : engine_(engine), work_(io_.get_executor()), tasks_(io_.get_executor(), "readers") {
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Readers() {
    boost::asio::post(io_, [this] {
      for (const auto& request : requests_) request->stop(serve::StopCause::kFinished);
      work_.reset();
    });
    thread_.join();
  }

  std::shared_ptr<serve::LiveRequest> open() {
    std::promise<std::shared_ptr<serve::LiveRequest>> opened;
    boost::asio::post(io_, [this, &opened] {
      requests_.push_back(std::make_shared<serve::LiveRequest>(queue_, engine_, 1 << 20));
      tasks_.spawn(read(requests_.back()));
      opened.set_value(requests_.back());
    });
    return opened.get_future().get();
  }

 private:
  static net::Task<void> read(std::shared_ptr<serve::LiveRequest> request) {
    std::vector<serve::TimedEvent> events;
    while (request->stop_cause() == serve::StopCause::kNone) {
      request->take(events);
      if (events.empty()) co_await request->wait(std::chrono::seconds(60));
    }
    request->close();
  }

  gateway::EnginePort& engine_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  net::TaskGroup tasks_;
  std::shared_ptr<serve::EventQueue> queue_ =
      std::make_shared<serve::EventQueue>(io_.get_executor(), system_clock());
  std::vector<std::shared_ptr<serve::LiveRequest>> requests_;
  std::thread thread_;
};

/// One column of the report: a part's time in each step.
struct Part {
  const char* name;
  Duration exec::TurnTimes::* time;
  std::vector<double> us = {};
};

void print(std::vector<double>& us, const char* name) {
  std::ranges::sort(us);
  double sum = 0;
  for (const double value : us) sum += value;
  std::printf("  %-9s median %8.2f  mean %8.2f  p99 %8.2f us\n", name, us[us.size() / 2],
              sum / static_cast<double>(us.size()), us[us.size() * 99 / 100]);
}

struct Mix {
  const char* name;
  int every;  ///< each so-many-th stream samples, the others are greedy; 0: none
  float temperature = 1;
  float top_p = 1;
  std::int32_t top_k = 0;
};

sched::GenerateSpec spec_of(int stream, const Mix& mix) {
  sched::GenerateSpec spec;
  spec.id = {static_cast<std::uint64_t>(stream) + 1};
  for (int i = 0; i < 20; ++i) spec.prompt.push_back(stream * 20 + i);
  spec.max_tokens = kContext - 32;
  spec.ignore_eos = true;
  spec.sampling.seed = static_cast<std::uint64_t>(stream);
  spec.sampling.temperature = 0;
  if (mix.every > 0 && stream % mix.every == 0) {
    spec.sampling.temperature = mix.temperature;
    spec.sampling.top_p = mix.top_p;
    spec.sampling.top_k = mix.top_k;
  }
  return spec;
}

void measure(const Mix& mix, int streams, int steps) {
  exec::EngineOptions options;
  options.context_max = kContext;
  options.sequences_max = streams;
  options.step_tokens_max = std::max(256, streams * 20);
  options.kv = {.block_size = 16, .block_count = streams * (steps + kWarmUpSteps + 100) / 16 + 64};
  gateway::Inbox inbox(exec::limits_of(options, kVocabulary));
  InboxPort port(inbox);
  exec::EngineLoop loop(
      std::make_unique<NullForward>(kVocabulary, options.step_tokens_max, streams), options,
      system_clock(), inbox);
  Readers readers(port);
  for (int stream = 0; stream < streams; ++stream) {
    const Status queued = inbox.submit(spec_of(stream, mix), readers.open());
    CHECK(queued.ok(), "the queue takes every stream");
  }
  for (int i = 0; i < kWarmUpSteps; ++i) loop.turn(Duration::zero());
  std::vector<Part> parts{{"schedule", &exec::TurnTimes::schedule},
                          {"build", &exec::TurnTimes::build},
                          {"sample", &exec::TurnTimes::sample},
                          {"commit", &exec::TurnTimes::commit},
                          {"report", &exec::TurnTimes::report}};
  std::vector<double> own;
  own.reserve(static_cast<std::size_t>(steps));
  for (Part& part : parts) part.us.reserve(static_cast<std::size_t>(steps));
  const std::int64_t allocated = allocations_here();
  for (int i = 0; i < steps; ++i) {
    loop.turn(Duration::zero());
    const auto us = [](Duration time) {
      return std::chrono::duration<double, std::micro>(time).count();
    };
    for (Part& part : parts) part.us.push_back(us(loop.times().*part.time));
    own.push_back(us(loop.times().own()));
  }
  const double allocations = static_cast<double>(allocations_here() - allocated) / steps;
  std::printf("%s, %d streams: %.2f allocations a step\n", mix.name, streams, allocations);
  for (Part& part : parts) print(part.us, part.name);
  print(own, "all");
  inbox.close();
  loop.turn(Duration::zero());
}

}  // namespace
}  // namespace kantha::bench

int main(int argc, char** argv) {
  CLI::App app{"Measures the engine thread's own cost of a step"};
  int streams = 64;
  int steps = 1000;
  app.add_option("-s,--streams", streams, "running streams")->check(CLI::Range(1, 1024));
  app.add_option("-n,--steps", steps, "steps measured")->check(CLI::Range(1, 10'000));
  CLI11_PARSE(app, argc, argv);
  using kantha::bench::Mix;
  for (const Mix& mix :
       {Mix{"greedy", 0}, Mix{"half temperature 0.8, top_p 0.95", 2, 0.8F, 0.95F},
        Mix{"all temperature 0.8", 1, 0.8F}, Mix{"all temperature 0.8, top_p 0.95", 1, 0.8F, 0.95F},
        Mix{"all temperature 1", 1}, Mix{"all temperature 2 (flat), top_p 0.9", 1, 2, 0.9F},
        Mix{"all temperature 1, top_k 40", 1, 1, 1, 40}}) {
    kantha::bench::measure(mix, streams, steps);
  }
  return 0;
}
