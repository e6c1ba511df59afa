#pragma once

#include <cstddef>
#include <cstdint>

/// The inner loops, once per instruction set, behind one table of function pointers.
///
/// Everything here is plain data and raw pointers: the translation units behind it are compiled for
/// instruction sets that this machine may not have, so they must not instantiate inline functions
/// or templates that the linker could share with the rest of the program.
///
/// Both tables give the same bits: integer dots are exact, and every float operation is the same
/// fused or unfused operation in the same order on 16 virtual lanes.
namespace kantha::ops::cpu {

/// Rows of a weight matrix that are interleaved and computed together.
inline constexpr std::int64_t kGroupRows = 16;
/// Tokens whose activations lie together and are computed together.
inline constexpr std::int64_t kPanelTokens = 8;
/// Elements that share a scale.
inline constexpr std::int64_t kBlock = 32;
/// One 32-block of a panel: int8 q [8, 32]; f32 dx [8]; f32 dx·Σq [8]; i32 −128·Σq [8]; i32 the
/// same sum over the first 16 columns [8].
inline constexpr std::int64_t kPanelBlockBytes = 384;
/// A fine block has a low int8 [8, 32] behind that: q = 128·high + low in [−16256, 16256]. Behind a
/// fine panel's blocks stand u8 [cols / 32, 8]: not 0 where a token's low parts are not all 0. That
/// is where its block has a value of more than so many times the root mean square of the token's
/// row: there int8 would round coarsely, and elsewhere the second product is saved. What a token
/// has does not depend on the others of its panel.
inline constexpr std::int64_t kFinePanelBlockBytes = 640;
inline constexpr std::int64_t kPanelLow = 384;          ///< byte offset of the low parts
inline constexpr std::int64_t kPanelScales = 256;       ///< byte offset of dx
inline constexpr std::int64_t kPanelSums = 288;         ///< byte offset of dx·Σq
inline constexpr std::int64_t kPanelOffsets = 320;      ///< byte offset of −128·Σq
inline constexpr std::int64_t kPanelHalfOffsets = 352;  ///< byte offset of −128·Σq of one half
/// Types of weights that the tables have kernels for: as many as DType.
inline constexpr std::int64_t kWeightTypes = 16;
/// Tokens of a K or V tile, and of the pieces into which attention over a context is cut. Pieces
/// start at multiples of kAttentionPiece whatever the batch, and are merged in order.
inline constexpr std::int64_t kTileTokens = 16;
inline constexpr std::int64_t kAttentionPiece = 256;
inline constexpr std::int64_t kPieceTiles = kAttentionPiece / kTileTokens;

/// Up to 8 tokens' activations in the two forms that matrices want.
struct PanelView {
  const std::byte* q8 = nullptr;  ///< [cols / 32] panel blocks, for quantised weights
  const float* f32 = nullptr;     ///< [tokens, f32_stride], for float weights
  std::int64_t f32_stride = 0;
};

/// tile [tokens, 16] f32 = 16 packed rows times `tokens` activations (1 … 8). For each (row, token)
/// one float accumulator runs along the columns in order: the result does not depend on `tokens`.
using GemmTile = void (*)(const std::byte* group, std::int64_t cols, const PanelView& in,
                          std::int64_t tokens, float* tile);

/// One piece of a context against some queries that share a KV head.
struct AttentionPiece {
  std::int64_t queries = 0;
  std::int64_t head_size = 0;
  std::int64_t tiles = 0;       ///< 1 … kPieceTiles
  std::int64_t first_tile = 0;  ///< those before are not read
  bool first = false;           ///< the state is not yet set
  float cap = 0;                ///< scores s become cap · tanh(s / cap); 0: they stay
  const float* q = nullptr;     ///< [queries, head_size], already scaled
  /// [queries] tokens [hidden, visible) of this piece count; visible ≤ hidden: none.
  const std::int32_t* hidden = nullptr;
  const std::int32_t* visible = nullptr;
  const std::uint16_t* k[kPieceTiles] = {};  ///< each [head_size, 16 tokens] f16
  const std::uint16_t* v[kPieceTiles] = {};  ///< each [16 tokens, padded head_size] f16
  float* scores = nullptr;                   ///< scratch [queries, kAttentionPiece]
  float* max = nullptr;                      ///< state [queries]
  float* sum = nullptr;                      ///< state [queries]
  float* scales = nullptr;                   ///< scratch [2, queries]
  float* out = nullptr;                      ///< state [queries, padded head_size]
};

struct KernelTable {
  const char* name;
  /// Indexed by DType.
  GemmTile gemm[kWeightTypes];
  /// The same over fine panels: twice the integer work where a block has low parts, and about 1/128
  /// of the rounding error there.
  GemmTile gemm_fine[kWeightTypes];
  /// out [n] = x / sqrt(mean(x²) + epsilon) · weight.
  void (*rmsnorm_row)(const float* x, const float* weight, std::int64_t n, float epsilon,
                      float* out);
  /// Quantises x [n] (n a multiple of 32) into one lane of consecutive panel blocks.
  void (*quantise_row)(const float* x, std::int64_t n, std::byte* panel, std::int64_t lane);
  /// The same into fine blocks and their flags; x is a whole row, and blocks have low parts from
  /// `fine_from` times its root mean square on.
  void (*quantise_row_fine)(const float* x, std::int64_t n, float fine_from, std::byte* panel,
                            std::int64_t lane);
  /// to [tokens, stride] += or = tile [tokens, 16], the first `rows` of each 16.
  void (*add_tile)(const float* tile, std::int64_t tokens, std::int64_t rows, float* to,
                   std::int64_t stride);
  void (*store_tile)(const float* tile, std::int64_t tokens, std::int64_t rows, float* to,
                     std::int64_t stride);
  /// to [tokens, stride] (16 of each row) = silu(gate) · up; gate and up are tiles.
  void (*silu_mul_tile)(const float* gate, const float* up, std::int64_t tokens, float* to,
                        std::int64_t stride);
  /// The same with the tanh form of GELU.
  void (*gelu_mul_tile)(const float* gate, const float* up, std::int64_t tokens, float* to,
                        std::int64_t stride);
  /// x [n] becomes cap · tanh(x / cap); n a multiple of 16.
  void (*cap_row)(float* x, std::int64_t n, float cap);
  /// Rotates neighbour pairs of x [16]: x·cosines + swapped(x)·sines, sines carrying the signs.
  void (*rotate_16)(float* x, const float* cosines, const float* sines);
  /// to [16] = f16(x [16]), rounded to even, clamped to the finite range.
  void (*to_f16_16)(const float* x, std::uint16_t* to);
  /// Adds one piece to the running softmax of its queries. Keys are read from first_tile on, values
  /// only from the least hidden to the largest visible of some queries: those must be finite.
  void (*attend_piece)(const AttentionPiece& piece);
  /// to [n] = x [n] · scale.
  void (*scale_row)(const float* x, float scale, std::int64_t n, float* to);
};

/// Needs AVX2, FMA and F16C.
const KernelTable& avx2_kernels();
/// Needs AVX-512 F, BW, DQ, VL and VNNI as well.
const KernelTable& avx512_kernels();

}  // namespace kantha::ops::cpu
