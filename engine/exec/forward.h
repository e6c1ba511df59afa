#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "engine/cache/kv_options.h"

/// One forward pass over a mixed batch: the seam between scheduling and a device.
namespace kantha::exec {

/// One step's work as flat arrays. B sequences contribute T rows (tokens to compute) in order; row
/// r of sequence b attends to that sequence's keys at positions 0 … positions[r]. Prefill chunks,
/// decodes and re-computation are all the same thing here.
///
/// Layers that attend alike are a group (Forward::groups); each has its own places for keys and
/// values. In a group with a window, row r attends to the last `window` positions up to its own.
struct Batch {
  std::span<const TokenId> token_ids;       ///< [T]
  std::span<const std::int32_t> positions;  ///< [T] position of each row in its sequence
  /// [groups, T] where the row's key and value go: block id * block_size + offset in the block.
  std::span<const std::int32_t> slots;
  std::span<const std::int32_t>
      row_starts;  ///< [B + 1] rows of sequence b: [row_starts[b], row_starts[b+1])
  /// [groups, B, P] row-major block ids, P = block_table_stride; entries past the context are
  /// undefined, and so are those that no row of the sequence attends to in a group with a window.
  std::span<const BlockId> block_tables;
  std::int32_t block_table_stride = 0;
  std::span<const std::int32_t> logit_rows;  ///< [S] rows whose logits are wanted, rising
  std::int32_t group_count = 1;

  /// slots [T] of a group.
  std::span<const std::int32_t> slots_of(std::int32_t group) const {
    return slots.subspan(static_cast<std::size_t>(group) * token_ids.size(), token_ids.size());
  }
  /// Block ids [P] of a sequence in a group.
  std::span<const BlockId> table(std::int32_t group, std::size_t sequence) const {
    const auto stride = static_cast<std::size_t>(block_table_stride);
    const std::size_t row = static_cast<std::size_t>(group) * (row_starts.size() - 1) + sequence;
    return block_tables.subspan(row * stride, stride);
  }
};

/// The groups of a model whose layers all attend to everything.
inline constexpr cache::KvGroup kFullAttention[1] = {};

/// Shape of the paged KV storage that a Forward owns.
struct KvShape {
  std::int32_t block_size = 16;  ///< tokens per block
  std::int32_t block_count = 0;
};

/// What a forward pass notes of its logits while they are in the cache, by blocks of kLogitBlock
/// (row_kernels.h), so that sampling need not read the rows again.
struct LogitNotes {
  std::span<float> maxima;  ///< [S, blocks] block_maximum of each
  /// [S] 1 / temperature at which a row's sums are wanted; 0: they are not.
  std::span<const float> inverse_temperatures;
  std::span<float> sums;  ///< [S, blocks] block_weight of each, of the rows that want them
  /// [S, hidden_size] the rows' hidden states as they go into the last matrix; empty: not wanted.
  std::span<float> states = {};
};

/// CHECKs the sizes of notes.
void check_notes(const LogitNotes& notes, std::size_t rows, std::size_t vocabulary);
/// Writes what is noted of one block of a row's logits.
void note_block(const LogitNotes& notes, std::size_t row, std::size_t block,
                std::span<const float> logits);

/// Computes logits for a batch with some model on some device. Owned and called by the engine
/// thread.
///
/// Guarantees: the logits of a row depend only on its sequence's tokens up to it, bit for bit: not
/// on other rows, chunking, block placement or thread count. No allocation per call once warmed up.
class Forward {
 public:
  virtual ~Forward() = default;
  /// logits [S, vocabulary] f32, row-major. CHECKs the shapes.
  virtual void run(const Batch& batch, std::span<float> logits) = 0;
  /// As run; also notes, row-major. Unless a device has something better, they are computed from
  /// the logits, but for states.
  virtual void run_with_notes(const Batch& batch, std::span<float> logits, const LogitNotes& notes);
  /// Copies the content of one KV block to another (copy-on-write).
  virtual void copy_block(BlockId from, BlockId to) = 0;
  /// Of the model's layers, in the order of a Batch's slots and tables; constant.
  virtual std::span<const cache::KvGroup> groups() const { return kFullAttention; }
  virtual std::int32_t vocabulary_size() const = 0;
  /// Width of what LogitNotes::states gets; 0: it cannot be asked for.
  virtual std::int32_t hidden_size() const { return 0; }
  /// Largest T and S that `run` takes.
  virtual std::int32_t rows_max() const = 0;
  virtual std::int32_t logit_rows_max() const = 0;

  /// Threads that `for_each` uses, the caller's included.
  virtual int threads() const { return 1; }
  /// Calls visit(item, thread) for each item in [0, count) and returns when all have returned:
  /// every item once, on any thread in [0, threads()), in any order. For work on logits between two
  /// runs.
  template <class Visit>
  void for_each(std::int32_t count, Visit& visit) {
    share_out(count, &visit, [](void* context, std::int32_t item, int thread) {
      (*static_cast<Visit*>(context))(item, thread);
    });
  }

 protected:
  using ItemTask = void (*)(void* context, std::int32_t item, int thread);
  /// Without threads of its own a Forward does them one after the other.
  virtual void share_out(std::int32_t count, void* context, ItemTask task);
};

}  // namespace kantha::exec
