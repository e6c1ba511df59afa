#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/kernels/machine_probes.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"

/// kantha-forward-bench MODEL [-t THREADS] [-r REPEATS]: speed of make_forward_cpu on a model, each
/// round beside probes of the machine taken in the same second.
namespace kantha::bench {
namespace {

constexpr std::int32_t kBlockSize = 16;
constexpr std::int32_t kContext = 200;
constexpr std::int32_t kDecodeSteps = 32;
constexpr std::int32_t kPrefill = 512;
constexpr std::int32_t kSequencesMax = 16;

double ms_of(auto&& work) {
  const TimePoint start = system_clock().now();
  work();
  return std::chrono::duration<double, std::milli>(system_clock().now() - start).count();
}

/// Batches of some sequences whose blocks lie scattered over the pool.
class Driver {
 public:
  explicit Driver(exec::Forward& forward, std::int32_t block_count)
      : forward_(forward), block_count_(block_count), stride_(kPrefill / kBlockSize * 2) {
    logits_.resize(static_cast<std::size_t>(forward.vocabulary_size()) * kSequencesMax);
  }

  /// Computes `count` tokens from `position` on for each of `sequences`, logits of the last ones.
  void step(std::int32_t sequences, std::int32_t position, std::int32_t count) {
    tokens_.clear();
    positions_.clear();
    slots_.clear();
    starts_.assign(1, 0);
    tables_.clear();
    logit_rows_.clear();
    for (std::int32_t b = 0; b < sequences; ++b) {
      for (std::int32_t p = 0; p < stride_; ++p) tables_.push_back(block(b, p));
      for (std::int32_t i = position; i < position + count; ++i) {
        tokens_.push_back((i * 37 + b * 101 + 5) % forward_.vocabulary_size());
        positions_.push_back(i);
        slots_.push_back(block(b, i / kBlockSize) * kBlockSize + i % kBlockSize);
      }
      starts_.push_back(static_cast<std::int32_t>(tokens_.size()));
      logit_rows_.push_back(starts_.back() - 1);
    }
    const exec::Batch batch{tokens_, positions_, slots_, starts_, tables_, stride_, logit_rows_};
    const std::size_t wanted =
        static_cast<std::size_t>(forward_.vocabulary_size()) * static_cast<std::size_t>(sequences);
    forward_.run(batch, std::span(logits_).first(wanted));
  }

 private:
  BlockId block(std::int32_t sequence, std::int32_t index) const {
    return static_cast<BlockId>((std::int64_t{sequence} * stride_ + index) * 769 % block_count_);
  }

  exec::Forward& forward_;
  std::int32_t block_count_;
  std::int32_t stride_;
  std::vector<TokenId> tokens_;
  std::vector<std::int32_t> positions_, slots_, starts_, logit_rows_;
  std::vector<BlockId> tables_;
  std::vector<float> logits_;
};

struct Series {
  std::string name;
  std::vector<double> values;

  void print() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    std::printf("%-28s best %9.1f  median %9.1f  worst %9.1f\n", name.c_str(), sorted.back(),
                sorted[sorted.size() / 2], sorted.front());
  }
};

double decode_tokens_per_s(Driver& driver, std::int32_t sequences) {
  driver.step(sequences, kContext - 1, 1);
  const double ms = ms_of([&] {
    for (std::int32_t i = 0; i < kDecodeSteps; ++i) driver.step(sequences, kContext + i, 1);
  });
  return sequences * kDecodeSteps / ms * 1000;
}

int run(const std::string& path, int threads, int repeats) {
  auto model = model::load_model(path);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().to_string().c_str());
    return 1;
  }
  exec::ForwardOptions options;
  options.kv = {.block_size = kBlockSize, .block_count = 1024 + 1};
  options.rows_max = kPrefill;
  options.threads = threads;
  std::unique_ptr<exec::Forward> forward;
  const double pack_ms = ms_of([&] {
    auto made = exec::make_forward_cpu(model->llama, options);
    if (made.ok()) forward = std::move(made).value();
    if (!made.ok()) std::fprintf(stderr, "%s\n", made.error().to_string().c_str());
  });
  if (forward == nullptr) return 1;
  std::printf("pack %.1f ms\n", pack_ms);
  Driver driver(*forward, options.kv.block_count);
  ops::cpu::ThreadPool pool(threads);
  Series prefill{"prefill 512 tok/s", {}}, read{"read GB/s", {}}, tops{"int8 TOPS x1000", {}};
  Series barrier{"barrier ns", {}};
  std::vector<Series> decodes{
      {"decode 1 tok/s", {}}, {"decode 4 tok/s", {}}, {"decode 16 tok/s", {}}};
  for (std::int32_t b = 0; b < kSequencesMax; ++b) driver.step(kSequencesMax, b * 16, 16);
  for (int i = 0; i < repeats; ++i) {
    const MachineProbes probes = probe_machine(pool);
    read.values.push_back(probes.read_gb_per_s);
    tops.values.push_back(probes.int8_tops * 1000);
    barrier.values.push_back(probes.barrier_ns);
    prefill.values.push_back(kPrefill / ms_of([&] { driver.step(1, 0, kPrefill); }) * 1000);
    decodes[0].values.push_back(decode_tokens_per_s(driver, 1));
    decodes[1].values.push_back(decode_tokens_per_s(driver, 4));
    decodes[2].values.push_back(decode_tokens_per_s(driver, 16));
  }
  for (const Series* series : {&read, &tops, &barrier, &prefill}) series->print();
  for (const Series& series : decodes) series.print();
  return 0;
}

}  // namespace
}  // namespace kantha::bench

int main(int argc, char** argv) {
  CLI::App app{"Measures the CPU forward pass on a model"};
  std::string model;
  int threads = 2;
  int repeats = 5;
  app.add_option("model", model, "GGUF file")->required();
  app.add_option("-t,--threads", threads, "compute threads")->check(CLI::Range(1, 256));
  app.add_option("-r,--repeats", repeats, "rounds")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  return kantha::bench::run(model, threads, repeats);
}
