#include "engine/exec/forward_cpu_scratch.h"

#include <algorithm>
#include <utility>

namespace kantha::exec {
namespace {

using ops::cpu::kAttentionPiece;
using ops::cpu::kBlock;
using ops::cpu::kPanelTokens;
using ops::cpu::kPieceTiles;
using ops::cpu::kTileTokens;

/// Hands out pieces of one buffer; run once with no memory to learn the size.
class Cutter {
 public:
  explicit Cutter(std::byte* base) : base_(base) {}

  template <class T>
  void take(T*& to, std::int64_t count) {
    to = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    // Whole cache lines and one apart, so that threads do not share lines.
    used_ += (bytes + 127) / 64 * 64;
  }

  void take(Activations& to, std::int64_t rows, std::int64_t cols) {
    to.cols = cols;
    to.grain.is_fine = true;  // the larger; each stage sets its own
    const std::int64_t panels = (rows + kPanelTokens - 1) / kPanelTokens;
    take(to.f32, rows * cols);
    if (cols % kBlock == 0) take(to.q8, panels * to.panel_bytes());
  }

  std::int64_t used() const { return used_; }

 private:
  std::byte* base_;
  std::int64_t used_ = 0;
};

void cut_thread(Cutter& cutter, const model::LlamaConfig& c, ThreadScratch& to) {
  const std::int64_t group = c.heads / c.kv_heads;
  const std::int64_t queries = group * attention_rows_per_item(c);
  const std::int64_t padded = (std::int64_t{c.head_size} + 15) / 16 * 16;
  cutter.take(to.width, kPanelTokens, c.width);
  cutter.take(to.attention, kPanelTokens, std::int64_t{c.heads} * c.head_size);
  cutter.take(to.tiles, 4 * kPanelTokens * ops::cpu::kGroupRows);
  cutter.take(to.ffn_block, kPanelTokens * kBlock);
  cutter.take(to.queries, queries * c.head_size);
  cutter.take(to.scores, queries * kAttentionPiece);
  cutter.take(to.softmax, 4 * queries);
  cutter.take(to.out, queries * padded);
  cutter.take(to.hidden, queries);
  cutter.take(to.visible, queries);
  cutter.take(to.k_tiles, kPieceTiles * c.head_size * kTileTokens);
  cutter.take(to.v_tiles, kPieceTiles * kTileTokens * padded);
}

void cut(Cutter& cutter, const model::LlamaConfig& c, const ForwardOptions& options,
         CpuScratch& to) {
  const std::int64_t rows = options.rows_max;
  const std::int64_t q_width = std::int64_t{c.heads} * c.head_size;
  cutter.take(to.x, rows * c.width);
  cutter.take(to.x_logits, std::int64_t{options.logit_rows_max} * c.width);
  cutter.take(to.q, rows * q_width);
  const std::int64_t ropes = c.rope_base_windowed > 0 ? 2 : 1;
  cutter.take(to.rotations, rows * ropes * 2 * (std::int64_t{c.head_size} + 16));
  cutter.take(to.width, rows, c.width);
  cutter.take(to.attention, rows, q_width);
  cutter.take(to.ffn, rows, c.ffn_width);
  cutter.take(to.k, rows * c.kv_width());
  cutter.take(to.projected, rows * c.width);
  for (ThreadScratch& thread : to.threads) cut_thread(cutter, c, thread);
}

}  // namespace

std::int32_t attention_rows_per_item(const model::LlamaConfig& config) {
  return std::max(1, kAttentionQueries / (config.heads / config.kv_heads));
}

Result<CpuScratch> CpuScratch::allocate(const model::LlamaConfig& config,
                                        const ForwardOptions& options) {
  CpuScratch scratch;
  scratch.threads.resize(static_cast<std::size_t>(options.threads));
  Cutter measure(nullptr);
  cut(measure, config, options, scratch);
  TRY(scratch.arena,
      ops::cpu::AlignedBuffer::allocate(static_cast<std::size_t>(measure.used()), "activations"));
  Cutter cutter(scratch.arena.data());
  cut(cutter, config, options, scratch);
  return scratch;
}

}  // namespace kantha::exec
