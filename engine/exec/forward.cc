#include "engine/exec/forward.h"

#include <algorithm>

#include "base/check.h"
#include "engine/exec/row_kernels.h"

namespace kantha::exec {

void Forward::run_with_maxima(const Batch& batch, std::span<float> logits,
                              std::span<float> maxima) {
  run(batch, logits);
  const auto vocabulary = static_cast<std::size_t>(vocabulary_size());
  const std::size_t blocks = logit_blocks(vocabulary);
  CHECK(maxima.size() == batch.logit_rows.size() * blocks, "maxima [S, blocks]");
  for (std::size_t i = 0; i < maxima.size(); ++i) {
    const std::size_t start = i % blocks * kLogitBlock;
    maxima[i] = block_maximum(
        logits.subspan(i / blocks * vocabulary + start, std::min(kLogitBlock, vocabulary - start)));
  }
}

void Forward::share_out(std::int32_t count, void* context, ItemTask task) {
  for (std::int32_t item = 0; item < count; ++item) task(context, item, 0);
}

}  // namespace kantha::exec
