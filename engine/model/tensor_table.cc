#include "engine/model/tensor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/ops/ref/dequantize.h"

namespace kantha::model {

void TensorTable::add(std::string_view name, std::vector<std::int64_t> dims, ops::TensorView view) {
  left_.emplace(name, Entry{std::move(dims), view});
}

Result<ops::TensorView> TensorTable::take(const std::string& name, std::int64_t rows,
                                          std::int64_t cols) {
  const auto found = left_.find(name);
  if (found == left_.end()) return data_loss(fmt::format("tensor {}: is missing", name));
  const Entry& entry = found->second;
  if (entry.dims.size() > 2 || entry.view.rows != rows || entry.view.cols != cols) {
    return data_loss(fmt::format("tensor {}: expected [{}, {}] from the keys, got [{}, {}]", name,
                                 rows, cols, entry.view.rows, entry.view.cols));
  }
  const ops::TensorView view = entry.view;
  left_.erase(found);
  return view;
}

Result<ops::TensorView> TensorTable::take_vector(const std::string& name, std::int64_t cols,
                                                 OwnedFloats& owned, float offset) {
  TRY(const auto view, take(name, 1, cols));
  if (view.type != ops::DType::kF32 && view.type != ops::DType::kF16 &&
      view.type != ops::DType::kBF16) {
    return unimplemented(fmt::format("tensor {}: type {} is not supported here, F32 is", name,
                                     ops::dtype_name(view.type)));
  }
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(view.bytes.data()) % alignof(float) == 0;
  if (view.type == ops::DType::kF32 && offset == 0 && is_aligned) return view;
  std::vector<float>& values = owned.emplace_back(static_cast<std::size_t>(cols));
  ops::ref::dequantize_row(view, 0, values);
  for (float& value : values) value += offset;
  return ops::TensorView{ops::DType::kF32, 1, cols, std::as_bytes(std::span(values))};
}

std::string TensorTable::first_left() const {
  std::string_view first;
  for (const auto& [name, entry] : left_) {
    if (first.empty() || name < first) first = name;
  }
  return std::string(first);
}

ops::TensorView rows_of(const ops::TensorView& view, std::int64_t first, std::int64_t count) {
  CHECK(first >= 0 && count >= 0 && first + count <= view.rows, "rows within the matrix");
  ops::TensorView part = view;
  part.rows = count;
  part.bytes = view.bytes.subspan(static_cast<std::size_t>(first * view.row_bytes()),
                                  static_cast<std::size_t>(count * view.row_bytes()));
  return part;
}

}  // namespace kantha::model
