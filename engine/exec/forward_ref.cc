#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "base/check.h"
#include "engine/exec/check_batch.h"
#include "engine/exec/forward_factory.h"
#include "engine/exec/kv_layout.h"
#include "engine/model/rope_scaling.h"
#include "engine/ops/ref/attention.h"
#include "engine/ops/ref/embedding.h"
#include "engine/ops/ref/gelu_mul.h"
#include "engine/ops/ref/matmul.h"
#include "engine/ops/ref/rmsnorm.h"
#include "engine/ops/ref/rope.h"
#include "engine/ops/ref/silu_mul.h"
#include "engine/ops/ref/soft_cap.h"

namespace kantha::exec {
namespace {

namespace ref = ops::ref;
using model::LlamaConfig;
using model::LlamaLayer;
using model::LlamaModel;

std::size_t to_size(std::int64_t value) { return static_cast<std::size_t>(value); }

/// Empty for a view that is.
std::vector<float> f32_vector(const ops::TensorView& view) {
  if (view.empty()) return {};
  std::vector<float> values(to_size(view.cols));
  CHECK(view.type == ops::DType::kF32 && view.rows == 1, "norms and biases are f32 vectors");
  std::memcpy(values.data(), view.bytes.data(), values.size() * sizeof(float));
  return values;
}

/// to [T, n] += what [n] in each row; nothing where `what` is empty.
void add_bias(std::span<float> to, std::span<const float> what) {
  if (what.empty()) return;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += what[i % what.size()];
}

void scale(std::span<float> x, float factor) {
  if (factor == 1) return;
  for (float& value : x) value *= factor;
}

/// Room for the rows of one batch; taken once.
struct Activations {
  Activations(const LlamaConfig& config, const ForwardOptions& options)
      : hidden(room(options.rows_max, config.width)),
        normed(hidden.size()),
        q(room(options.rows_max, std::int64_t{config.heads} * config.head_size)),
        k(room(options.rows_max, config.kv_width())),
        v(k.size()),
        attended(q.size()),
        projected(hidden.size()),
        gate(room(options.rows_max, config.ffn_width)),
        up(gate.size()),
        scores(to_size(std::int64_t{options.kv.block_count} * options.kv.block_size)),
        weight_row(to_size(std::max({std::int64_t{config.width}, std::int64_t{config.ffn_width},
                                     std::int64_t{config.heads} * config.head_size}))) {}

  static std::size_t room(std::int64_t rows, std::int64_t cols) { return to_size(rows * cols); }

  std::vector<float> hidden;      ///< [T, width] the residual stream
  std::vector<float> normed;      ///< [T, width]
  std::vector<float> q;           ///< [T, heads, head_size]
  std::vector<float> k;           ///< [T, kv_heads, head_size]
  std::vector<float> v;           ///< [T, kv_heads, head_size]
  std::vector<float> attended;    ///< [T, heads, head_size]
  std::vector<float> projected;   ///< [T, width]
  std::vector<float> gate;        ///< [T, ffn_width]
  std::vector<float> up;          ///< [T, ffn_width]
  std::vector<float> scores;      ///< [context], scratch of attention
  std::vector<float> weight_row;  ///< [widest input], scratch of matmul
};

/// f32 keys and values: [layers of a block, 2, blocks, block_size, kv_width].
class KvStore {
 public:
  KvStore(const LlamaConfig& config, const KvShape& shape, std::int32_t layers)
      : shape_(shape),
        config_(config),
        block_floats_(to_size(shape.block_size * config.kv_width())),
        plane_floats_(block_floats_ * to_size(shape.block_count)),
        floats_(plane_floats_ * 2 * to_size(layers)),
        layers_(to_size(layers)) {}

  /// One row's key and value [kv_width] into a slot of a layer.
  void put(std::size_t layer, std::int32_t slot, std::span<const float> key,
           std::span<const float> value) {
    const std::size_t at = to_size(slot * config_.kv_width());
    std::ranges::copy(key, plane(2 * layer).subspan(at).begin());
    std::ranges::copy(value, plane(2 * layer + 1).subspan(at).begin());
  }

  ref::PagedKv layer(std::size_t layer) {
    return {plane(2 * layer), plane(2 * layer + 1), shape_.block_size, config_.kv_heads,
            config_.head_size};
  }

  void copy_block(BlockId from, BlockId to) {
    for (std::size_t p = 0; p < 2 * layers_; ++p) {
      const auto source = plane(p).subspan(to_size(from) * block_floats_, block_floats_);
      std::ranges::copy(source, plane(p).subspan(to_size(to) * block_floats_).begin());
    }
  }

 private:
  std::span<float> plane(std::size_t index) {
    return std::span(floats_).subspan(index * plane_floats_, plane_floats_);
  }

  KvShape shape_;
  LlamaConfig config_;
  std::size_t block_floats_;
  std::size_t plane_floats_;
  std::vector<float> floats_;
  std::size_t layers_;
};

/// The vectors of one layer as aligned f32; empty where it has none.
struct LayerVectors {
  explicit LayerVectors(const LlamaLayer& layer)
      : attention_norm(f32_vector(layer.attention_norm)),
        ffn_norm(f32_vector(layer.ffn_norm)),
        post_attention_norm(f32_vector(layer.post_attention_norm)),
        post_ffn_norm(f32_vector(layer.post_ffn_norm)),
        q_norm(f32_vector(layer.q_norm)),
        k_norm(f32_vector(layer.k_norm)),
        q_bias(f32_vector(layer.q_bias)),
        k_bias(f32_vector(layer.k_bias)),
        v_bias(f32_vector(layer.v_bias)),
        o_bias(f32_vector(layer.o_bias)) {}

  std::vector<float> attention_norm, ffn_norm, post_attention_norm, post_ffn_norm;
  std::vector<float> q_norm, k_norm;
  std::vector<float> q_bias, k_bias, v_bias, o_bias;
};

class ForwardRef : public Forward {
 public:
  ForwardRef(const LlamaModel& model, const ForwardOptions& options)
      : model_(model),
        options_(options),
        room_(model.config, options),
        layout_(model.config),
        kv_(model.config, options.kv, layout_.layers_per_block),
        output_norm_(f32_vector(model.output_norm)) {
    const std::int32_t context = options.context > 0 ? options.context : model.config.context;
    for (const bool windowed : {false, true}) {
      if (windowed && model.config.rope_base_windowed <= 0) break;
      ropes_.push_back(model::rope_table(model.config, windowed, context));
    }
    for (const LlamaLayer& layer : model.layers) vectors_.emplace_back(layer);
  }

  void run(const Batch& batch, std::span<float> logits) override {
    const BatchLimits limits{options_.kv, options_.rows_max, options_.logit_rows_max,
                             vocabulary_size(), layout_.groups};
    check_batch(batch, limits, logits.size());
    const std::size_t rows = batch.token_ids.size();
    const auto hidden = std::span(room_.hidden).first(rows * to_size(model_.config.width));
    ref::embed(model_.embedding, batch.token_ids, hidden);
    scale(hidden, model_.config.embedding_scale);
    for (std::size_t i = 0; i < model_.layers.size(); ++i) {
      attention_part(batch, i, hidden);
      ffn_part(i, hidden);
    }
    write_logits(batch, hidden, logits);
  }

  void run_with_notes(const Batch& batch, std::span<float> logits,
                      const LogitNotes& notes) override {
    states_ = notes.states;
    Forward::run_with_notes(batch, logits, notes);
    states_ = {};
  }

  void copy_block(BlockId from, BlockId to) override {
    CHECK(from >= 0 && from < options_.kv.block_count, "source block within the pool");
    CHECK(to >= 0 && to < options_.kv.block_count, "target block within the pool");
    kv_.copy_block(from, to);
  }

  std::span<const cache::KvGroup> groups() const override { return layout_.groups; }
  std::int32_t vocabulary_size() const override { return model_.config.vocabulary; }
  std::int32_t hidden_size() const override { return model_.config.width; }
  std::int32_t rows_max() const override { return options_.rows_max; }
  std::int32_t logit_rows_max() const override { return options_.logit_rows_max; }

 private:
  /// hidden [T, width] += o(attention(norm(hidden))); keys and values go to the store first.
  void attention_part(const Batch& batch, std::size_t index, std::span<float> hidden) {
    const LlamaConfig& config = model_.config;
    const LlamaLayer& layer = model_.layers[index];
    const LayerVectors& vectors = vectors_[index];
    const std::size_t rows = batch.token_ids.size();
    const std::size_t kv_width = to_size(config.kv_width());
    const auto q = std::span(room_.q).first(rows * to_size(config.q_width()));
    const auto k = std::span(room_.k).first(rows * kv_width);
    const auto v = std::span(room_.v).first(rows * kv_width);

    const auto in = normed(hidden, vectors.attention_norm);
    linear(layer.q, vectors.q_bias, in, q);
    linear(layer.k, vectors.k_bias, in, k);
    linear(layer.v, vectors.v_bias, in, v);
    if (!vectors.q_norm.empty()) {
      ref::rmsnorm(q, vectors.q_norm, config.norm_epsilon, q);
      ref::rmsnorm(k, vectors.k_norm, config.norm_epsilon, k);
    }
    rotate(batch, index, q, k);
    const LayerPlace place = layout_.layers[index];
    const auto slots = batch.slots_of(place.group);
    for (std::size_t row = 0; row < rows; ++row) {
      kv_.put(to_size(place.index), slots[row], k.subspan(row * kv_width, kv_width),
              v.subspan(row * kv_width, kv_width));
    }
    const auto attended = std::span(room_.attended).first(q.size());
    attend(batch, index, q, attended);
    add_projected(layer.o, vectors.o_bias, vectors.post_attention_norm, attended, hidden);
  }

  /// Positions go into queries and keys; queries grow with theirs where the model says so.
  void rotate(const Batch& batch, std::size_t index, std::span<float> q, std::span<float> k) {
    const LlamaConfig& config = model_.config;
    const auto layer = static_cast<std::int32_t>(index);
    if (config.rotates(layer)) {
      const model::RopeTable& table = ropes_[config.has_windowed_base(layer) ? 1 : 0];
      const ref::RopeShape shape{.head_size = config.head_size,
                                 .dims = config.rope_dims,
                                 .frequencies = table.frequencies,
                                 .magnitude = table.magnitude,
                                 .is_halves = config.rope_pairs == model::RopePairs::kHalves};
      ref::rope(q, batch.positions, shape);
      ref::rope(k, batch.positions, shape);
    }
    if (config.query_growth == 0) return;
    const std::size_t width = to_size(config.q_width());
    for (std::size_t row = 0; row < batch.positions.size(); ++row) {
      scale(q.subspan(row * width, width), model::query_factor(config, batch.positions[row]));
    }
  }

  /// attended [T, heads, head_size] from q of the same shape and the layer's stored keys and
  /// values.
  void attend(const Batch& batch, std::size_t index, std::span<const float> q,
              std::span<float> attended) {
    const std::size_t q_width = q.size() / std::max<std::size_t>(1, batch.token_ids.size());
    const LayerPlace place = layout_.layers[index];
    const std::int32_t window = layout_.groups[to_size(place.group)].window;
    const ref::PagedKv kv = kv_.layer(to_size(place.index));
    const ref::ScoreRule rule{model_.config.attention_scale, model_.config.attention_cap};
    for (std::size_t b = 0; b + 1 < batch.row_starts.size(); ++b) {
      const auto table = batch.table(place.group, b);
      for (auto row = to_size(batch.row_starts[b]); row < to_size(batch.row_starts[b + 1]); ++row) {
        const std::int32_t position = batch.positions[row];
        const std::int32_t first = window == 0 ? 0 : std::max(0, position - window + 1);
        ref::attention_row(q.subspan(row * q_width, q_width), kv, table, first, position,
                           room_.scores, attended.subspan(row * q_width, q_width), rule);
      }
    }
  }

  /// hidden [T, width] += down(f(gate(x)) · up(x)) with x = norm(hidden).
  void ffn_part(std::size_t index, std::span<float> hidden) {
    const LlamaConfig& config = model_.config;
    const LlamaLayer& layer = model_.layers[index];
    const LayerVectors& vectors = vectors_[index];
    const std::size_t rows = hidden.size() / to_size(config.width);
    const auto gate = std::span(room_.gate).first(rows * to_size(config.ffn_width));
    const auto up = std::span(room_.up).first(gate.size());
    const auto in = normed(hidden, vectors.ffn_norm);
    linear(layer.gate, {}, in, gate);
    linear(layer.up, {}, in, up);
    if (config.gate == model::GateActivation::kGeluTanh) {
      ref::gelu_mul(gate, up, gate);
    } else {
      ref::silu_mul(gate, up, gate);
    }
    add_projected(layer.down, {}, vectors.post_ffn_norm, gate, hidden);
  }

  /// The rows normalised, or as they are where there is no norm.
  std::span<const float> normed(std::span<const float> x, std::span<const float> norm) {
    if (norm.empty()) return x;
    const auto out = std::span(room_.normed).first(x.size());
    ref::rmsnorm(x, norm, model_.config.norm_epsilon, out);
    return out;
  }

  void linear(const ops::TensorView& weights, std::span<const float> bias, std::span<const float> x,
              std::span<float> y) {
    ref::matmul(weights, x, y, room_.weight_row);
    add_bias(y, bias);
  }

  /// hidden += residual scale · norm(weights · x + bias).
  void add_projected(const ops::TensorView& weights, std::span<const float> bias,
                     std::span<const float> norm, std::span<const float> x,
                     std::span<float> hidden) {
    const auto projected = std::span(room_.projected).first(hidden.size());
    linear(weights, bias, x, projected);
    if (!norm.empty()) ref::rmsnorm(projected, norm, model_.config.norm_epsilon, projected);
    scale(projected, model_.config.residual_scale);
    for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] += projected[i];
  }

  void write_logits(const Batch& batch, std::span<const float> hidden, std::span<float> logits) {
    const std::size_t width = to_size(model_.config.width);
    const auto wanted = std::span(room_.normed).first(batch.logit_rows.size() * width);
    for (std::size_t s = 0; s < batch.logit_rows.size(); ++s) {
      const auto row = hidden.subspan(to_size(batch.logit_rows[s]) * width, width);
      std::ranges::copy(row, wanted.subspan(s * width).begin());
    }
    ref::rmsnorm(wanted, output_norm_, model_.config.norm_epsilon, wanted);
    if (!states_.empty()) std::ranges::copy(wanted, states_.begin());
    ref::matmul(model_.output, wanted, logits, room_.weight_row);
    scale(logits, model_.config.logit_scale);
    if (model_.config.logit_cap != 0) ref::soft_cap(logits, model_.config.logit_cap);
  }

  LlamaModel model_;
  ForwardOptions options_;
  Activations room_;
  KvLayout layout_;
  KvStore kv_;
  std::vector<model::RopeTable> ropes_;  ///< of all layers, and of those with a window
  std::vector<LayerVectors> vectors_;
  std::vector<float> output_norm_;
  std::span<float> states_;  ///< of the run, where they are wanted
};

Status check_options(const LlamaModel& model, const ForwardOptions& options) {
  const std::pair<std::string_view, std::int32_t> counts[] = {
      {"block_size", options.kv.block_size},
      {"block_count", options.kv.block_count},
      {"rows_max", options.rows_max},
      {"logit_rows_max", options.logit_rows_max},
  };
  for (const auto& [name, value] : counts) {
    if (value < 1) {
      return invalid_argument(fmt::format("{}: expected at least 1, got {}", name, value),
                              std::string(name));
    }
  }
  std::int64_t bytes = 0;
  const std::int64_t block_bytes = kv_block_bytes_ref(model.config, options.kv.block_size);
  const std::int64_t slots = std::int64_t{options.kv.block_count} * options.kv.block_size;
  if (__builtin_mul_overflow(block_bytes, options.kv.block_count, &bytes) ||
      slots > std::numeric_limits<std::int32_t>::max()) {
    return invalid_argument(fmt::format("block_count: {} blocks of {} tokens are too many",
                                        options.kv.block_count, options.kv.block_size),
                            "block_count");
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<Forward>> make_forward_ref(const LlamaModel& model,
                                                  const ForwardOptions& options) {
  TRY_OK(check_options(model, options));
  try {
    return std::unique_ptr<Forward>(std::make_unique<ForwardRef>(model, options));
  } catch (const std::bad_alloc&) {
    return Error{Code::kResourceExhausted,
                 fmt::format("no memory for {} KV blocks of {} bytes", options.kv.block_count,
                             kv_block_bytes_ref(model.config, options.kv.block_size))};
  }
}

std::int64_t kv_block_bytes_ref(const LlamaConfig& config, std::int32_t block_size) {
  return std::int64_t{2} * KvLayout(config).layers_per_block * block_size * config.kv_width() *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace kantha::exec
