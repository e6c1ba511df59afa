#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/kernels/machine_probes.h"
#include "bench/kernels/product_probe.h"
#include "engine/exec/forward_factory.h"
#include "engine/model/load_model.h"
#include "engine/model/model_file.h"
#include "engine/ops/cpu/packed_matrix.h"

/// kantha-forward-bench MODEL [-t THREADS] [-r REPEATS] [-o | -p]: speed of make_forward_cpu on a
/// model, each round beside probes of the machine taken in the same second.
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
    std::printf("%-28s best %10.2f  median %10.2f  worst %10.2f\n", name.c_str(), sorted.back(),
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

/// Bytes that a step of one sequence reads: packed weights, and keys and values of its context.
double bytes_read(const model::LlamaModel& model) {
  const auto packed = [](const ops::TensorView& matrix) {
    return ops::cpu::packed_groups(matrix.rows) *
           ops::cpu::packed_group_bytes(matrix.type, matrix.cols);
  };
  std::int64_t bytes = packed(model.output);
  for (const model::LlamaLayer& layer : model.layers) {
    for (const ops::TensorView* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      bytes += packed(*matrix);
    }
  }
  bytes += exec::kv_block_bytes_cpu(model.config, kBlockSize) * kContext / kBlockSize;
  return static_cast<double>(bytes);
}

/// Multiplications and additions of one token in the layers' matrices; the output layer, of which a
/// prefill computes one row, is left out.
double operations_per_token(const model::LlamaModel& model) {
  std::int64_t weights = 0;
  for (const model::LlamaLayer& layer : model.layers) {
    for (const ops::TensorView* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      weights += matrix->rows * matrix->cols;
    }
  }
  return 2.0 * static_cast<double>(weights);
}

/// The most memory that this process ever had.
double peak_mb() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024e-6;
}

struct Choice {
  std::string model;
  int threads = 2;
  int repeats = 5;
  bool one_stream = false;  ///< no prefill, and one sequence
  bool prefill_only = false;
};

/// What a token costs: bytes of a decode step, operations of a prefill.
struct Cost {
  double bytes;
  double operations;
};

/// The matrices alone, with activations of 8 bits and of 15.
struct Products {
  ProductProbe coarse;
  ProductProbe fine;
};

void measure(Driver& driver, const Cost& cost, const Products& products, const Choice& choice) {
  ops::cpu::ThreadPool pool(choice.threads);
  Series prefill{"prefill 512 tok/s", {}}, read{"read GB/s", {}}, tops{"int8 TOPS x1000", {}};
  Series barrier{"barrier ns", {}}, share{"decode 1 share of read", {}};
  Series gemm{"prefill share of int8", {}}, product{"products share of int8", {}};
  Series fine_product{"fine products share of int8", {}};
  Series one{"decode 1 tok/s", {}}, four{"decode 4 tok/s", {}}, sixteen{"decode 16 tok/s", {}};
  const std::int32_t sequences = choice.one_stream ? 1 : kSequencesMax;
  for (std::int32_t b = 0; b < kContext / 16 + 1; ++b) driver.step(sequences, b * 16, 16);
  for (int i = 0; i < choice.repeats; ++i) {
    const MachineProbes probes = probe_machine(pool, static_cast<std::size_t>(cost.bytes));
    read.values.push_back(probes.read_gb_per_s);
    tops.values.push_back(probes.int8_tops * 1000);
    barrier.values.push_back(probes.barrier_ns);
    if (!choice.prefill_only) {
      one.values.push_back(decode_tokens_per_s(driver, 1));
      share.values.push_back(one.values.back() * cost.bytes * 1e-9 / probes.read_gb_per_s);
    }
    if (choice.one_stream) continue;
    prefill.values.push_back(kPrefill / ms_of([&] { driver.step(1, 0, kPrefill); }) * 1000);
    if (probes.int8_tops > 0) {
      gemm.values.push_back(prefill.values.back() * cost.operations * 1e-12 / probes.int8_tops);
      product.values.push_back(products.coarse.tops(pool) / probes.int8_tops);
      fine_product.values.push_back(products.fine.tops(pool) / probes.int8_tops);
    }
    if (choice.prefill_only) continue;
    four.values.push_back(decode_tokens_per_s(driver, 4));
    sixteen.values.push_back(decode_tokens_per_s(driver, 16));
  }
  for (const Series* series : {&read, &tops, &barrier, &prefill, &gemm, &product, &fine_product,
                               &one, &share, &four, &sixteen}) {
    if (!series->values.empty()) series->print();
  }
}

int run(const Choice& choice) {
  auto model = model::load_model(choice.model);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().to_string().c_str());
    return 1;
  }
  exec::ForwardOptions options;
  options.kv = {.block_size = kBlockSize, .block_count = 1024 + 1};
  options.rows_max = kPrefill;
  options.threads = choice.threads;
  options.release = [&](std::span<const std::byte> copied) { model->file->release(copied); };
  std::unique_ptr<exec::Forward> forward;
  const double pack_ms = ms_of([&] {
    auto made = exec::make_forward_cpu(model->llama, options);
    if (made.ok()) forward = std::move(made).value();
    if (!made.ok()) std::fprintf(stderr, "%s\n", made.error().to_string().c_str());
  });
  if (forward == nullptr) return 1;
  const double bytes = bytes_read(model->llama);
  std::printf(
      "pack %.1f ms, at most %.1f MB in memory; the file has %.1f MB; %.1f MB read a token\n",
      pack_ms, peak_mb(), static_cast<double>(model->file_bytes) * 1e-6, bytes * 1e-6);
  Driver driver(*forward, options.kv.block_count);
  const auto coarse = ProductProbe::make(model->llama.layers.front(), kPrefill, false);
  const auto fine = ProductProbe::make(model->llama.layers.front(), kPrefill, true);
  if (!coarse.ok() || !fine.ok()) {
    const Error& error = coarse.ok() ? fine.error() : coarse.error();
    std::fprintf(stderr, "%s\n", error.to_string().c_str());
    return 1;
  }
  measure(driver, {bytes, operations_per_token(model->llama)}, {*coarse, *fine}, choice);
  return 0;
}

}  // namespace
}  // namespace kantha::bench

int main(int argc, char** argv) {
  CLI::App app{"Measures the CPU forward pass on a model"};
  kantha::bench::Choice choice;
  app.add_option("model", choice.model, "GGUF file")->required();
  app.add_option("-t,--threads", choice.threads, "compute threads")->check(CLI::Range(1, 256));
  app.add_option("-r,--repeats", choice.repeats, "rounds")->check(CLI::Range(1, 1000));
  app.add_flag("-o,--one-stream", choice.one_stream, "decode one sequence and nothing else");
  app.add_flag("-p,--prefill-only", choice.prefill_only, "no decode")->excludes("--one-stream");
  CLI11_PARSE(app, argc, argv);
  return kantha::bench::run(choice);
}
