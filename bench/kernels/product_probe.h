#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/result.h"
#include "engine/model/llama_model.h"
#include "engine/ops/cpu/thread_pool.h"

/// How fast the tile kernels multiply alone: no attention, no norms, no rows to prepare.
namespace kantha::bench {

/// One layer's seven matrices, packed, and some tokens' activations as panels.
class ProductProbe {
 public:
  /// `rows`: tokens, a multiple of kPanelTokens. `is_fine`: activations of 15 bits in every block
  /// instead of 8, which take two products for one. The layer's bytes are copied.
  /// Errors: no kernels for this CPU, no memory.
  static Result<ProductProbe> make(const model::LlamaLayer& layer, std::int64_t rows, bool is_fine);

  /// Multiplications and additions of weights per second, in 10^12, of the layer's products by all
  /// threads, in the order of groups and panels in which the forward pass takes them. The best of
  /// three.
  double tops(ops::cpu::ThreadPool& pool) const;

 private:
  struct Body;
  explicit ProductProbe(std::shared_ptr<const Body> body) : body_(std::move(body)) {}

  std::shared_ptr<const Body> body_;
};

}  // namespace kantha::bench
