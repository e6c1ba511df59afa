#include "engine/exec/forward.h"

#include <algorithm>

#include "base/check.h"
#include "engine/exec/row_kernels.h"

namespace kantha::exec {

void check_notes(const LogitNotes& notes, std::size_t rows, std::size_t vocabulary) {
  CHECK(notes.maxima.size() == rows * logit_blocks(vocabulary), "maxima [S, blocks]");
  CHECK(notes.sums.size() == notes.maxima.size(), "sums [S, blocks]");
  CHECK(notes.inverse_temperatures.size() == rows, "inverse_temperatures [S]");
}

void note_block(const LogitNotes& notes, std::size_t row, std::size_t block,
                std::span<const float> logits) {
  const std::size_t index = row * (notes.maxima.size() / notes.inverse_temperatures.size()) + block;
  notes.maxima[index] = block_maximum(logits);
  const float inverse = notes.inverse_temperatures[row];
  if (inverse > 0) notes.sums[index] = block_weight(logits, notes.maxima[index], inverse);
}

void Forward::run_with_notes(const Batch& batch, std::span<float> logits, const LogitNotes& notes) {
  run(batch, logits);
  const auto vocabulary = static_cast<std::size_t>(vocabulary_size());
  check_notes(notes, batch.logit_rows.size(), vocabulary);
  for (std::size_t row = 0; row < batch.logit_rows.size(); ++row) {
    for (std::size_t start = 0; start < vocabulary; start += kLogitBlock) {
      note_block(
          notes, row, start / kLogitBlock,
          logits.subspan(row * vocabulary + start, std::min(kLogitBlock, vocabulary - start)));
    }
  }
}

void Forward::share_out(std::int32_t count, void* context, ItemTask task) {
  for (std::int32_t item = 0; item < count; ++item) task(context, item, 0);
}

}  // namespace kantha::exec
