#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/ops/tensor.h"

/// Which tensors a file has, and which of them a model took.
namespace kantha::model {

/// Floats that a model needs in another form than its file has them; addresses are stable.
using OwnedFloats = std::deque<std::vector<float>>;

/// Hands out tensors by name, checks their shapes and remembers which nobody asked for. Names and
/// bytes are borrowed. Not thread-safe.
class TensorTable {
 public:
  /// dims [1 … 4], slowest first.
  void add(std::string_view name, std::vector<std::int64_t> dims, ops::TensorView view);
  bool has(const std::string& name) const { return left_.contains(name); }

  /// The tensor `name`, which must be [rows, cols]; taken out of the table. kDataLoss names it.
  Result<ops::TensorView> take(const std::string& name, std::int64_t rows, std::int64_t cols);
  /// A vector [cols] as f32 plus `offset`: borrowed where the file has it so, else made in `owned`.
  /// Bytes that lie unaligned are copied.
  Result<ops::TensorView> take_vector(const std::string& name, std::int64_t cols,
                                      OwnedFloats& owned, float offset = 0);
  /// The first, by name, that was not taken; empty when all were.
  std::string first_left() const;

 private:
  struct Entry {
    std::vector<std::int64_t> dims;
    ops::TensorView view;
  };
  std::unordered_map<std::string_view, Entry> left_;
};

/// Rows [first, first + count) of a matrix.
ops::TensorView rows_of(const ops::TensorView& view, std::int64_t first, std::int64_t count);

}  // namespace kantha::model
