#include "engine/exec/forward_cpu_weights.h"

#include <cstring>
#include <string>
#include <utility>

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

Status check_norm(const std::string& name, const TensorView& tensor, std::int64_t width) {
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

Status check_layer(const model::LlamaLayer& layer, const model::LlamaConfig& c, std::size_t index) {
  const std::string prefix = "layers[" + std::to_string(index) + "].";
  const std::int64_t q_width = std::int64_t{c.heads} * c.head_size;
  TRY_OK(check_norm(prefix + "attention_norm", layer.attention_norm, c.width));
  TRY_OK(check_tensor(prefix + "q", layer.q, q_width, c.width));
  TRY_OK(check_tensor(prefix + "k", layer.k, c.kv_width(), c.width));
  TRY_OK(check_tensor(prefix + "v", layer.v, c.kv_width(), c.width));
  TRY_OK(check_tensor(prefix + "o", layer.o, c.width, q_width));
  TRY_OK(check_norm(prefix + "ffn_norm", layer.ffn_norm, c.width));
  TRY_OK(check_tensor(prefix + "gate", layer.gate, c.ffn_width, c.width));
  TRY_OK(check_tensor(prefix + "up", layer.up, c.ffn_width, c.width));
  TRY_OK(check_tensor(prefix + "down", layer.down, c.width, c.ffn_width));
  return ok_status();
}

/// Lays matrices and norms out one after the other, then fills them with all threads.
class Packer {
 public:
  void add(const TensorView& from, PackedMatrix& to) {
    place(from, to, group_bytes(from));
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

  void add_norm(const TensorView& from, const float*& to) {
    norms_.push_back({from, &to, bytes_});
    bytes_ += (from.cols * 4 + 63) / 64 * 64;
  }

  Status fill(ops::cpu::AlignedBuffer& arena, ops::cpu::ThreadPool& pool,
              const PackProgress& progress) {
    TRY(arena, ops::cpu::AlignedBuffer::allocate(static_cast<std::size_t>(bytes_), "weights"));
    for (const Norm& norm : norms_) {
      std::memcpy(arena.data() + norm.offset, norm.from.bytes.data(),
                  static_cast<std::size_t>(norm.from.cols) * 4);
      *norm.to = reinterpret_cast<const float*>(arena.data() + norm.offset);
    }
    for (const Matrix& matrix : matrices_) matrix.to->data = arena.data() + matrix.offset;
    auto pack = [&](int thread) {
      for (const Matrix& matrix : matrices_) {
        // All threads work on the same matrix, more or less: the first one speaks for them.
        if (thread == 0 && progress) progress(matrix.offset, bytes_);
        const PackedMatrix& to = *matrix.to;
        for (std::int64_t g = to.groups * thread / pool.threads();
             g < to.groups * (thread + 1) / pool.threads(); ++g) {
          ops::cpu::pack_group(matrix.from, g, to.data + g * to.group_stride);
        }
      }
    };
    pool.run(pack);
    if (progress) progress(bytes_, bytes_);
    return ok_status();
  }

 private:
  struct Norm {
    TensorView from;
    const float** to;
    std::int64_t offset;
  };
  struct Matrix {
    TensorView from;
    PackedMatrix* to;
    std::int64_t offset;
  };

  static std::int64_t group_bytes(const TensorView& t) {
    return ops::cpu::packed_group_bytes(t.type, t.cols);
  }

  void place(const TensorView& from, PackedMatrix& to, std::int64_t stride) {
    to = {.type = from.type,
          .rows = from.rows,
          .cols = from.cols,
          .groups = ops::cpu::packed_groups(from.rows),
          .group_stride = stride};
    matrices_.push_back({from, &to, bytes_});
  }

  std::vector<Norm> norms_;
  std::vector<Matrix> matrices_;
  std::int64_t bytes_ = 0;
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
  TRY_OK(check_norm("output_norm", model.output_norm, model.config.width));
  return check_tensor("output", model.output, model.config.vocabulary, model.config.width);
}

Result<CpuWeights> pack_weights(const model::LlamaModel& model, ops::cpu::ThreadPool& pool,
                                const PackProgress& progress) {
  CpuWeights weights;
  weights.config = model.config;
  weights.embedding = model.embedding;
  weights.layers.resize(model.layers.size());
  Packer packer;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const model::LlamaLayer& from = model.layers[i];
    CpuLayer& to = weights.layers[i];
    packer.add_norm(from.attention_norm, to.attention_norm);
    packer.add(from.q, to.q);
    packer.add(from.k, to.k);
    packer.add(from.v, to.v);
    packer.add(from.o, to.o);
    packer.add_norm(from.ffn_norm, to.ffn_norm);
    packer.add_pair(from.gate, to.gate, from.up, to.up);
    packer.add(from.down, to.down);
  }
  packer.add_norm(model.output_norm, weights.output_norm);
  packer.add(model.output, weights.output);
  TRY_OK(packer.fill(weights.arena, pool, progress));
  return weights;
}

}  // namespace kantha::exec
