#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/model/llama_model.h"
#include "tests/engine/ops/cpu/random_tensor.h"

/// Small random models, and a slow dense forward pass in double to hold others against.
namespace kantha::exec {

/// Types of a tiny model's matrices.
struct TinyTypes {
  ops::DType embedding = ops::DType::kF32;
  ops::DType qk = ops::DType::kF32;
  ops::DType v = ops::DType::kF32;
  ops::DType o = ops::DType::kF32;
  ops::DType gate = ops::DType::kF32;
  ops::DType up = ops::DType::kF32;
  ops::DType down = ops::DType::kF32;

  static TinyTypes all(ops::DType type) { return {type, type, type, type, type, type, type}; }
};

class TinyModel {
 public:
  TinyModel(const model::LlamaConfig& config, const TinyTypes& types, std::uint64_t seed = 1)
      : seed_(seed) {
    model_.config = config;
    const std::int64_t q_width = std::int64_t{config.heads} * config.head_size;
    model_.embedding = add(types.embedding, config.vocabulary, config.width, 1);
    model_.output = model_.embedding;
    model_.output_norm = add(ops::DType::kF32, 1, config.width, 2);
    for (std::int32_t i = 0; i < config.layers; ++i) {
      model::LlamaLayer layer;
      layer.attention_norm = add(ops::DType::kF32, 1, config.width, 2);
      layer.q = matrix(types.qk, q_width, config.width);
      layer.k = matrix(types.qk, config.kv_width(), config.width);
      layer.v = matrix(types.v, config.kv_width(), config.width);
      layer.o = matrix(types.o, config.width, q_width);
      layer.ffn_norm = add(ops::DType::kF32, 1, config.width, 2);
      layer.gate = matrix(types.gate, config.ffn_width, config.width);
      layer.up = matrix(types.up, config.ffn_width, config.width);
      layer.down = matrix(types.down, config.width, config.ffn_width);
      model_.layers.push_back(layer);
    }
  }

  const model::LlamaModel& model() const { return model_; }
  model::LlamaModel& model() { return model_; }

  /// logits [tokens, vocabulary] of one sequence, every row.
  std::vector<double> dense_logits(const std::vector<TokenId>& tokens) const;

 private:
  using Rows = std::vector<std::vector<double>>;

  ops::TensorView add(ops::DType type, std::int64_t rows, std::int64_t cols, double scale) {
    tensors_.emplace_back(type, rows, cols, seed_++, scale);
    return tensors_.back().view();
  }
  ops::TensorView matrix(ops::DType type, std::int64_t rows, std::int64_t cols) {
    return add(type, rows, cols, 1.7 / std::sqrt(static_cast<double>(cols)));
  }
  const ops::cpu::RandomTensor& tensor(const ops::TensorView& view) const {
    for (const ops::cpu::RandomTensor& t : tensors_) {
      if (t.view().bytes.data() == view.bytes.data()) return t;
    }
    std::abort();
  }

  Rows multiply(const ops::TensorView& matrix, const Rows& in) const;
  Rows normalise(const ops::TensorView& norm, const Rows& in) const;
  void rotate(Rows& rows) const;
  Rows attend(const Rows& q, const Rows& k, const Rows& v, std::size_t window) const;

  std::deque<ops::cpu::RandomTensor> tensors_;
  model::LlamaModel model_;
  std::uint64_t seed_;
};

inline TinyModel::Rows TinyModel::multiply(const ops::TensorView& matrix, const Rows& in) const {
  const ops::cpu::RandomTensor& w = tensor(matrix);
  Rows out(in.size(), std::vector<double>(static_cast<std::size_t>(w.rows())));
  for (std::size_t t = 0; t < in.size(); ++t) {
    for (std::size_t r = 0; r < out[t].size(); ++r) {
      for (std::size_t k = 0; k < in[t].size(); ++k) {
        out[t][r] += w.at(static_cast<std::int64_t>(r), static_cast<std::int64_t>(k)) * in[t][k];
      }
    }
  }
  return out;
}

inline TinyModel::Rows TinyModel::normalise(const ops::TensorView& norm, const Rows& in) const {
  const ops::cpu::RandomTensor& w = tensor(norm);
  Rows out = in;
  for (auto& row : out) {
    double squares = 0;
    for (const double v : row) squares += v * v;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(row.size()) +
                                       double{model_.config.norm_epsilon});
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] *= scale * w.at(0, static_cast<std::int64_t>(i));
    }
  }
  return out;
}

inline void TinyModel::rotate(Rows& rows) const {
  const auto size = static_cast<std::size_t>(model_.config.head_size);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    for (std::size_t i = 0; i < rows[t].size(); i += 2) {
      const auto dim = static_cast<std::int32_t>(i % size);
      if (dim >= model_.config.rope_dims) continue;
      const double angle =
          static_cast<double>(t) *
          std::pow(double{model_.config.rope_base}, -double(dim) / model_.config.rope_dims);
      const double a = rows[t][i];
      const double b = rows[t][i + 1];
      rows[t][i] = a * std::cos(angle) - b * std::sin(angle);
      rows[t][i + 1] = b * std::cos(angle) + a * std::sin(angle);
    }
  }
}

inline TinyModel::Rows TinyModel::attend(const Rows& q, const Rows& k, const Rows& v,
                                         std::size_t window) const {
  const auto size = static_cast<std::size_t>(model_.config.head_size);
  const auto group = static_cast<std::size_t>(model_.config.heads / model_.config.kv_heads);
  Rows out(q.size(), std::vector<double>(q[0].size()));
  for (std::size_t t = 0; t < q.size(); ++t) {
    for (std::size_t h = 0; h < q[0].size() / size; ++h) {
      const std::size_t kv = h / group * size;
      const std::size_t first = window == 0 || t < window ? 0 : t - window + 1;
      std::vector<double> weights(t + 1);
      double sum = 0;
      for (std::size_t s = first; s <= t; ++s) {
        double score = 0;
        for (std::size_t d = 0; d < size; ++d) score += q[t][h * size + d] * k[s][kv + d];
        sum += weights[s] = std::exp(score / std::sqrt(static_cast<double>(size)));
      }
      for (std::size_t s = 0; s <= t; ++s) {
        for (std::size_t d = 0; d < size; ++d) {
          out[t][h * size + d] += weights[s] / sum * v[s][kv + d];
        }
      }
    }
  }
  return out;
}

inline std::vector<double> TinyModel::dense_logits(const std::vector<TokenId>& tokens) const {
  const auto add_to = [](Rows& x, const Rows& y) {
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < x[t].size(); ++i) x[t][i] += y[t][i];
    }
  };
  Rows x;
  for (const TokenId token : tokens) {
    auto& row = x.emplace_back();
    for (std::int64_t i = 0; i < model_.config.width; ++i) {
      row.push_back(tensor(model_.embedding).at(token, i));
    }
  }
  for (std::size_t index = 0; index < model_.layers.size(); ++index) {
    const model::LlamaLayer& layer = model_.layers[index];
    const auto window =
        static_cast<std::size_t>(model_.config.window(static_cast<std::int32_t>(index)));
    Rows h = normalise(layer.attention_norm, x);
    Rows q = multiply(layer.q, h);
    Rows k = multiply(layer.k, h);
    rotate(q);
    rotate(k);
    add_to(x, multiply(layer.o, attend(q, k, multiply(layer.v, h), window)));
    h = normalise(layer.ffn_norm, x);
    Rows gate = multiply(layer.gate, h);
    const Rows up = multiply(layer.up, h);
    for (std::size_t t = 0; t < gate.size(); ++t) {
      for (std::size_t i = 0; i < gate[t].size(); ++i) {
        gate[t][i] *= up[t][i] / (1 + std::exp(-gate[t][i]));
      }
    }
    add_to(x, multiply(layer.down, gate));
  }
  std::vector<double> logits;
  for (const auto& row : multiply(model_.output, normalise(model_.output_norm, x))) {
    logits.insert(logits.end(), row.begin(), row.end());
  }
  return logits;
}

}  // namespace kantha::exec
