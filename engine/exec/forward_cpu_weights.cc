#include "engine/exec/forward_cpu_weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "engine/ops/cpu/kernel_table.h"

namespace kantha::exec {
namespace {

using ops::DType;
using ops::TensorView;
using ops::cpu::PackedMatrix;

Status check_tensor(const std::string& name, const TensorView& tensor, std::int64_t rows,
                    std::int64_t cols) {
  if (tensor.rows != rows || tensor.cols != cols) {
    return invalid_argument(name + ": expected shape [" + std::to_string(rows) + ", " +
                                std::to_string(cols) + "], got [" + std::to_string(tensor.rows) +
                                ", " + std::to_string(tensor.cols) + "]",
                            name);
  }
  const std::int64_t block = ops::dtype_block_elements(tensor.type);
  if (cols % block != 0) {
    return invalid_argument(
        name + ": " + std::to_string(cols) + " columns are no multiple of " + std::to_string(block),
        name);
  }
  const std::int64_t wanted = rows * tensor.row_bytes();
  if (static_cast<std::int64_t>(tensor.bytes.size()) < wanted) {
    return invalid_argument(name + ": expected " + std::to_string(wanted) + " bytes, got " +
                                std::to_string(tensor.bytes.size()),
                            name);
  }
  return ok_status();
}

/// A norm or a bias.
Status check_vector(const std::string& name, const TensorView& tensor, std::int64_t width) {
  TRY_OK(check_tensor(name, tensor, 1, width));
  if (tensor.type != DType::kF32) {
    return invalid_argument(
        name + ": expected F32, got " + std::string(ops::dtype_name(tensor.type)), name);
  }
  return ok_status();
}

Status check_config(const model::LlamaConfig& c) {
  const auto positive = [](const char* field, std::int64_t value) -> Status {
    if (value >= 1) return ok_status();
    return invalid_argument(
        std::string(field) + ": expected at least 1, got " + std::to_string(value), field);
  };
  TRY_OK(positive("layers", c.layers));
  TRY_OK(positive("width", c.width));
  TRY_OK(positive("heads", c.heads));
  TRY_OK(positive("kv_heads", c.kv_heads));
  TRY_OK(positive("head_size", c.head_size));
  TRY_OK(positive("ffn_width", c.ffn_width));
  TRY_OK(positive("vocabulary", c.vocabulary));
  if (c.heads % c.kv_heads != 0) {
    return invalid_argument("kv_heads: " + std::to_string(c.kv_heads) + " does not divide heads " +
                                std::to_string(c.heads),
                            "kv_heads");
  }
  if (c.head_size % 2 != 0) {
    return invalid_argument(
        "head_size: expected an even number, got " + std::to_string(c.head_size), "head_size");
  }
  if (c.rope_dims < 0 || c.rope_dims > c.head_size || c.rope_dims % 2 != 0) {
    return invalid_argument("rope_dims: expected an even number in [0, " +
                                std::to_string(c.head_size) + "], got " +
                                std::to_string(c.rope_dims),
                            "rope_dims");
  }
  return ok_status();
}

/// What a layer may have or not.
Status check_options(const std::string& prefix, const model::LlamaLayer& layer,
                     const model::LlamaConfig& c) {
  const std::int64_t head = c.head_size;
  const bool each_head = layer.q_norm.cols == head && layer.k_norm.cols == head;
  const std::tuple<const char*, const TensorView&, std::int64_t> vectors[] = {
      {"attention_norm", layer.attention_norm, c.width},
      {"ffn_norm", layer.ffn_norm, c.width},
      {"post_attention_norm", layer.post_attention_norm, c.width},
      {"post_ffn_norm", layer.post_ffn_norm, c.width},
      {"q_bias", layer.q_bias, c.q_width()},
      {"k_bias", layer.k_bias, c.kv_width()},
      {"v_bias", layer.v_bias, c.kv_width()},
      {"o_bias", layer.o_bias, c.width},
      {"q_norm", layer.q_norm, each_head ? head : c.q_width()},
      {"k_norm", layer.k_norm, each_head ? head : c.kv_width()},
  };
  for (const auto& [name, view, cols] : vectors) {
    if (!view.empty()) {
      TRY_OK(check_vector(prefix + name, view, cols));
    }
  }
  if (layer.q_norm.empty() != layer.k_norm.empty()) {
    return invalid_argument(prefix + "k_norm: expected as well as q_norm", prefix + "k_norm");
  }
  return ok_status();
}

Status check_layer(const model::LlamaLayer& layer, const model::LlamaConfig& c, std::size_t index) {
  const std::string prefix = "layers[" + std::to_string(index) + "].";
  TRY_OK(check_options(prefix, layer, c));
  TRY_OK(check_tensor(prefix + "q", layer.q, c.q_width(), c.width));
  TRY_OK(check_tensor(prefix + "k", layer.k, c.kv_width(), c.width));
  TRY_OK(check_tensor(prefix + "v", layer.v, c.kv_width(), c.width));
  TRY_OK(check_tensor(prefix + "o", layer.o, c.width, c.q_width()));
  TRY_OK(check_tensor(prefix + "gate", layer.gate, c.ffn_width, c.width));
  TRY_OK(check_tensor(prefix + "up", layer.up, c.ffn_width, c.width));
  TRY_OK(check_tensor(prefix + "down", layer.down, c.width, c.ffn_width));
  return ok_status();
}

/// Where row i of a rearranged matrix comes from; empty = it stays as it is.
using RowOrder = std::vector<std::int64_t>;

/// Of `heads` heads: halves that turn together become neighbours.
RowOrder head_order(const model::LlamaConfig& c, std::int64_t heads) {
  if (c.rope_pairs == model::RopePairs::kNeighbours) return {};
  RowOrder order(static_cast<std::size_t>(heads * c.head_size));
  const std::int64_t pairs = c.rope_dims / 2;
  for (std::int64_t i = 0; i < heads * c.head_size; ++i) {
    const std::int64_t dim = i % c.head_size;
    const std::int64_t from = dim >= c.rope_dims ? dim : dim / 2 + dim % 2 * pairs;
    order[static_cast<std::size_t>(i)] = i - dim + from;
  }
  return order;
}

/// Packs group `index` of a matrix whose rows are taken in another order.
void pack_reordered(const TensorView& from, const RowOrder& order, std::int64_t index,
                    std::vector<std::byte>& room, std::byte* to) {
  const std::int64_t first = index * ops::cpu::kGroupRows;
  const std::int64_t count = std::min(ops::cpu::kGroupRows, from.rows - first);
  const auto row_bytes = static_cast<std::size_t>(from.row_bytes());
  room.resize(static_cast<std::size_t>(count) * row_bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(order[static_cast<std::size_t>(first + i)]);
    std::memcpy(room.data() + static_cast<std::size_t>(i) * row_bytes,
                from.bytes.data() + row * row_bytes, row_bytes);
  }
  ops::cpu::pack_group({from.type, count, from.cols, room}, 0, to);
}

/// Lays matrices and vectors out one after the other, then fills them with all threads.
class Packer {
 public:
  void add(const TensorView& from, PackedMatrix& to, const RowOrder& order = {}) {
    place(from, to, group_bytes(from));
    matrices_.back().order = order;
    bytes_ += to.groups * to.group_stride;
  }

  /// Two matrices of as many rows, alternating group by group.
  void add_pair(const TensorView& a, PackedMatrix& to_a, const TensorView& b, PackedMatrix& to_b) {
    const std::int64_t stride = group_bytes(a) + group_bytes(b);
    place(a, to_a, stride);
    bytes_ += group_bytes(a);
    place(b, to_b, stride);
    bytes_ += to_a.groups * stride - group_bytes(a);
  }

  /// A norm or a bias; a bias is read in whole groups of rows, so that some zeros follow it. An
  /// empty one stays null.
  void add_vector(const TensorView& from, const float*& to, const RowOrder& order = {}) {
    if (from.empty()) return;
    vectors_.push_back({from, &to, bytes_, order});
    bytes_ += (from.cols * 4 + 63) / 64 * 64;
  }

  Status fill(ops::cpu::AlignedBuffer& arena, ops::cpu::ThreadPool& pool,
              const ForwardOptions& options) {
    TRY(arena, ops::cpu::AlignedBuffer::allocate(static_cast<std::size_t>(bytes_), "weights"));
    for (const Vector& vector : vectors_) copy(vector, arena);
    for (const Matrix& matrix : matrices_) matrix.to->data = arena.data() + matrix.offset;
    const std::vector<Piece> pieces = cut(options);
    std::atomic<std::size_t> next = 0;
    std::atomic<std::int64_t> done = 0;
    auto pack = [&](int thread) {
      std::vector<std::byte> room;
      for (;;) {
        const std::size_t taken = next.fetch_add(1, std::memory_order_relaxed);
        if (taken >= pieces.size()) return;
        // The first thread speaks for all.
        if (thread == 0 && options.progress) options.progress(done.load(), source_bytes_);
        done += pack_piece(pieces[taken], options, room);
      }
    };
    pool.run(pack);
    if (options.progress) options.progress(source_bytes_, source_bytes_);
    return ok_status();
  }

 private:
  struct Vector {
    TensorView from;
    const float** to;
    std::int64_t offset;
    RowOrder order;
  };
  struct Matrix {
    TensorView from;
    PackedMatrix* to;
    std::int64_t offset;
    RowOrder order;
  };
  /// Groups [first, last) of a matrix.
  struct Piece {
    const Matrix* matrix;
    std::int64_t first;
    std::int64_t last;
  };

  static void copy(const Vector& vector, ops::cpu::AlignedBuffer& arena) {
    std::byte* to = arena.data() + vector.offset;
    const std::byte* from = vector.from.bytes.data();
    if (vector.order.empty()) {
      std::memcpy(to, from, static_cast<std::size_t>(vector.from.cols) * 4);
    }
    for (std::size_t i = 0; i < vector.order.size(); ++i) {
      std::memcpy(to + i * 4, from + static_cast<std::size_t>(vector.order[i]) * 4, 4);
    }
    *vector.to = reinterpret_cast<const float*>(to);
  }

  /// The matrices in pieces that any thread may take, in order: no more than some MiB of the source
  /// are in use at a time, and a thread whose core is taken away holds up nobody.
  std::vector<Piece> cut(const ForwardOptions& options) const {
    constexpr std::int64_t kPieceBytes = 2 << 20;
    std::vector<Piece> pieces;
    std::vector<std::span<const std::byte>> order;
    for (const Matrix& matrix : matrices_) {
      const std::int64_t groups = matrix.to->groups;
      const std::int64_t source_bytes = ops::cpu::kGroupRows * matrix.from.row_bytes();
      const std::int64_t step = std::max<std::int64_t>(1, kPieceBytes / source_bytes);
      for (std::int64_t first = 0; first < groups; first += step) {
        pieces.push_back({&matrix, first, std::min(groups, first + step)});
      }
      order.push_back(matrix.from.bytes);
    }
    if (options.plan) options.plan(std::move(order));
    return pieces;
  }

  /// Bytes of the source. Rows that are reordered may be read again after they were given back,
  /// from the file.
  static std::int64_t pack_piece(const Piece& piece, const ForwardOptions& options,
                                 std::vector<std::byte>& room) {
    const Matrix& matrix = *piece.matrix;
    const TensorView& from = matrix.from;
    for (std::int64_t g = piece.first; g < piece.last; ++g) {
      std::byte* group = matrix.to->data + g * matrix.to->group_stride;
      if (matrix.order.empty()) {
        ops::cpu::pack_group(from, g, group);
      } else {
        pack_reordered(from, matrix.order, g, room, group);
      }
    }
    const std::int64_t source_bytes = ops::cpu::kGroupRows * from.row_bytes();
    const auto at = static_cast<std::size_t>(piece.first * source_bytes);
    const auto whole = static_cast<std::size_t>((piece.last - piece.first) * source_bytes);
    const auto copied = from.bytes.subspan(at, std::min(whole, from.bytes.size() - at));
    if (options.release) options.release(copied);
    return static_cast<std::int64_t>(copied.size());
  }

  static std::int64_t group_bytes(const TensorView& t) {
    return ops::cpu::packed_group_bytes(t.type, t.cols);
  }

  void place(const TensorView& from, PackedMatrix& to, std::int64_t stride) {
    to = {.type = from.type,
          .rows = from.rows,
          .cols = from.cols,
          .groups = ops::cpu::packed_groups(from.rows),
          .group_stride = stride};
    matrices_.push_back({from, &to, bytes_, {}});
    source_bytes_ += static_cast<std::int64_t>(from.bytes.size());
  }

  std::vector<Vector> vectors_;
  std::vector<Matrix> matrices_;
  std::int64_t bytes_ = 0;         ///< packed
  std::int64_t source_bytes_ = 0;  ///< of matrices
};

}  // namespace

Status check_model(const model::LlamaModel& model) {
  TRY_OK(check_config(model.config));
  if (static_cast<std::int64_t>(model.layers.size()) != model.config.layers) {
    return invalid_argument("layers: the config says " + std::to_string(model.config.layers) +
                                ", the model has " + std::to_string(model.layers.size()),
                            "layers");
  }
  TRY_OK(check_tensor("embedding", model.embedding, model.config.vocabulary, model.config.width));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    TRY_OK(check_layer(model.layers[i], model.config, i));
  }
  TRY_OK(check_vector("output_norm", model.output_norm, model.config.width));
  return check_tensor("output", model.output, model.config.vocabulary, model.config.width);
}

namespace {

void add_layer(const model::LlamaLayer& from, const model::LlamaConfig& config, CpuLayer& to,
               Packer& packer) {
  const RowOrder q_order = head_order(config, config.heads);
  const RowOrder k_order = head_order(config, config.kv_heads);
  to.norms_each_head = from.q_norm.cols == config.head_size && from.k_norm.cols == config.head_size;
  packer.add_vector(from.attention_norm, to.attention_norm);
  packer.add(from.q, to.q, q_order);
  packer.add(from.k, to.k, k_order);
  packer.add(from.v, to.v);
  packer.add_vector(from.q_bias, to.q_bias, q_order);
  packer.add_vector(from.k_bias, to.k_bias, k_order);
  packer.add_vector(from.v_bias, to.v_bias);
  const RowOrder head = head_order(config, 1);
  packer.add_vector(from.q_norm, to.q_norm, to.norms_each_head ? head : q_order);
  packer.add_vector(from.k_norm, to.k_norm, to.norms_each_head ? head : k_order);
  packer.add(from.o, to.o);
  packer.add_vector(from.o_bias, to.o_bias);
  packer.add_vector(from.post_attention_norm, to.post_attention_norm);
  packer.add_vector(from.ffn_norm, to.ffn_norm);
  packer.add_pair(from.gate, to.gate, from.up, to.up);
  packer.add(from.down, to.down);
  packer.add_vector(from.post_ffn_norm, to.post_ffn_norm);
}

}  // namespace

Result<CpuWeights> pack_weights(const model::LlamaModel& model, ops::cpu::ThreadPool& pool,
                                const ForwardOptions& options) {
  CpuWeights weights;
  weights.config = model.config;
  weights.embedding = model.embedding;
  weights.layers.resize(model.layers.size());
  const std::int32_t context = options.context > 0 ? options.context : model.config.context;
  weights.ropes.push_back(model::rope_table(model.config, false, context));
  if (model.config.rope_base_windowed > 0) {
    weights.ropes.push_back(model::rope_table(model.config, true, context));
  }
  Packer packer;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    add_layer(model.layers[i], model.config, weights.layers[i], packer);
  }
  packer.add_vector(model.output_norm, weights.output_norm);
  packer.add(model.output, weights.output);
  TRY_OK(packer.fill(weights.arena, pool, options));
  return weights;
}

}  // namespace kantha::exec
