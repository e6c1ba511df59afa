#include "bench/kernels/product_probe.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"
#include "engine/ops/cpu/aligned_buffer.h"
#include "engine/ops/cpu/cpu_features.h"
#include "engine/ops/cpu/packed_matrix.h"

namespace kantha::bench {
namespace {

using ops::cpu::AlignedBuffer;
using ops::cpu::kGroupRows;
using ops::cpu::kPanelTokens;

/// As many panels as the forward pass takes at a time, so that they stay in the cache.
constexpr std::int64_t kPanelsAtOnce = 8;
constexpr int kTries = 3;

/// A packed matrix and the activations that it multiplies.
struct Product {
  AlignedBuffer weights;
  AlignedBuffer panels;
  ops::cpu::PackedMatrix matrix;
  std::int64_t panel_bytes = 0;

  ops::cpu::PanelView panel(std::int64_t index) const {
    const std::byte* at = panels.data() + index * panel_bytes;
    return {at, reinterpret_cast<const float*>(at), matrix.cols};
  }
};

Result<Product> pack(const ops::TensorView& from) {
  Product out;
  const std::int64_t stride = ops::cpu::packed_group_bytes(from.type, from.cols);
  const std::int64_t groups = ops::cpu::packed_groups(from.rows);
  TRY(out.weights, AlignedBuffer::allocate(static_cast<std::size_t>(stride * groups), "a matrix"));
  out.matrix = {from.type, from.rows, from.cols, groups, stride, out.weights.data()};
  for (std::int64_t i = 0; i < groups; ++i) {
    ops::cpu::pack_group(from, i, out.weights.data() + i * stride);
  }
  return out;
}

/// Panels of `rows` random rows, as the matrix wants them: quantised, or plain floats.
Status fill_panels(Product& to, const ops::cpu::KernelTable& kernels, std::int64_t rows,
                   bool is_fine) {
  const std::int64_t cols = to.matrix.cols;
  const bool is_quantised = ops::cpu::is_quantised(to.matrix.type);
  to.panel_bytes = is_quantised ? ops::cpu::panel_bytes(cols, is_fine)
                                : kPanelTokens * cols * static_cast<std::int64_t>(sizeof(float));
  TRY(to.panels, AlignedBuffer::allocate(
                     static_cast<std::size_t>(rows / kPanelTokens * to.panel_bytes), "panels"));
  std::vector<float> row(static_cast<std::size_t>(cols));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::uint64_t bits = random_bits(static_cast<std::uint64_t>(r), c);
      row[c] = static_cast<float>(bits % 2048) / 1024 - 1;
    }
    std::byte* panel = to.panels.data() + r / kPanelTokens * to.panel_bytes;
    if (is_quantised && is_fine) {
      kernels.quantise_row_fine(row.data(), cols, 0, panel, r % kPanelTokens);
    } else if (is_quantised) {
      kernels.quantise_row(row.data(), cols, panel, r % kPanelTokens);
    } else {
      std::copy(row.begin(), row.end(), reinterpret_cast<float*>(panel) + r % kPanelTokens * cols);
    }
  }
  return ok_status();
}

}  // namespace

struct ProductProbe::Body {
  const ops::cpu::KernelTable* kernels = nullptr;
  std::int64_t rows = 0;
  bool is_fine = false;
  std::vector<Product> products;
};

Result<ProductProbe> ProductProbe::make(const model::LlamaLayer& layer, std::int64_t rows,
                                        bool is_fine) {
  auto body = std::make_shared<Body>();
  TRY(body->kernels, ops::cpu::choose_kernels_here());
  body->rows = rows;
  body->is_fine = is_fine;
  for (const ops::TensorView* matrix :
       {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
    TRY(Product product, pack(*matrix));
    TRY_OK(fill_panels(product, *body->kernels, rows, is_fine));
    body->products.push_back(std::move(product));
  }
  return ProductProbe(std::move(body));
}

double ProductProbe::tops(ops::cpu::ThreadPool& pool) const {
  const auto& kernels = body_->is_fine ? body_->kernels->gemm_fine : body_->kernels->gemm;
  const std::int64_t chunks = body_->rows / kPanelTokens / kPanelsAtOnce;
  std::vector<std::atomic<std::int64_t>> next(body_->products.size());
  auto multiply = [&](int) {
    alignas(64) std::array<float, kPanelTokens * kGroupRows> tile = {};
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Product& product = body_->products[i];
      const std::int64_t groups = product.matrix.groups;
      const auto gemm = kernels[static_cast<std::size_t>(product.matrix.type)];
      for (std::int64_t item; (item = next[i].fetch_add(1)) < groups * chunks;) {
        for (std::int64_t p = 0; p < kPanelsAtOnce; ++p) {
          gemm(product.matrix.group(item % groups), product.matrix.cols,
               product.panel(item / groups * kPanelsAtOnce + p), kPanelTokens, tile.data());
        }
      }
    }
  };
  double operations = 0;
  for (const Product& product : body_->products) {
    operations +=
        2.0 * static_cast<double>(product.matrix.rows * product.matrix.cols * body_->rows);
  }
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    for (auto& each : next) each = 0;
    const TimePoint start = system_clock().now();
    pool.run(multiply);
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    best = std::max(best, operations / seconds * 1e-12);
  }
  return best;
}

}  // namespace kantha::bench
