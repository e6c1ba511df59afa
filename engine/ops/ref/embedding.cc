#include "engine/ops/ref/embedding.h"

#include <cstddef>

#include "base/check.h"
#include "engine/ops/ref/dequantize.h"

namespace kantha::ops::ref {

void embed(const TensorView& table, std::span<const TokenId> token_ids, std::span<float> out) {
  const auto width = static_cast<std::size_t>(table.cols);
  CHECK(out.size() == token_ids.size() * width, "out [T, width]");
  for (std::size_t t = 0; t < token_ids.size(); ++t) {
    dequantize_row(table, token_ids[t], out.subspan(t * width, width));
  }
}

}  // namespace kantha::ops::ref
