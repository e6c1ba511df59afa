#include "tests/golden/requantise.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/check.h"
#include "engine/model/gguf_file.h"
#include "engine/ops/ref/dequantize.h"

namespace kantha::golden {
namespace {

using fake::Bytes;
using ops::DType;

template <class T>
void append(Bytes& bytes, T value) {
  const auto raw = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void append_text(Bytes& bytes, std::string_view text) {
  append(bytes, std::uint64_t{text.size()});
  const auto raw = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

/// A value as it stood in the file.
Bytes encoded(const model::GgufValue& value) {
  Bytes bytes;
  append(bytes, static_cast<std::uint32_t>(value.type));
  if (value.type == model::GgufType::kArray) {
    append(bytes, static_cast<std::uint32_t>(value.element));
    append(bytes, value.count);
  }
  for (const std::string_view text : value.strings) append_text(bytes, text);
  bytes.insert(bytes.end(), value.raw.begin(), value.raw.end());
  return bytes;
}

/// What a tensor's type is chosen by.
struct Place {
  std::string_view name;
  std::int64_t layer = -1;
  std::int64_t layers = 0;
  bool wide = false;  ///< rows are whole blocks of 256

  bool is(std::string_view part) const { return name.find(part) != std::string_view::npos; }
  /// Layers at both ends and every third between are thought to need more bits.
  bool delicate() const {
    const std::int64_t eighth = layers / 8;
    return layer < eighth || layer >= 7 * eighth || (layer - eighth) % 3 == 2;
  }
};

DType or_small(const Place& place, DType wide, DType small) { return place.wide ? wide : small; }

DType medium(const Place& place, DType wide, DType small) {
  const bool more = place.is("token_embd") || place.is("output.weight") ||
                    ((place.is("attn_v") || place.is("ffn_down")) && place.delicate());
  return more ? or_small(place, DType::kQ6_K, DType::kQ8_0) : or_small(place, wide, small);
}

DType any_type(const Place& place) {
  constexpr DType kWide[] = {DType::kQ2_K, DType::kQ3_K, DType::kQ4_K,
                             DType::kQ5_K, DType::kQ6_K, DType::kIQ4_XS};
  constexpr DType kSmall[] = {DType::kQ5_0,   DType::kQ5_1,  DType::kQ8_0, DType::kQ4_0,
                              DType::kIQ4_NL, DType::kMXFP4, DType::kF16,  DType::kBF16};
  const auto turn = static_cast<std::size_t>(place.layer + 1);
  if (place.wide) return kWide[turn % std::size(kWide)];
  return kSmall[(turn + place.name.size()) % std::size(kSmall)];
}

DType type_for(std::string_view mixture, const Place& place) {
  if (mixture == "Q4_K_M") return medium(place, DType::kQ4_K, DType::kQ5_0);
  if (mixture == "Q5_K_M") return medium(place, DType::kQ5_K, DType::kQ5_1);
  if (mixture == "Q6_K") return or_small(place, DType::kQ6_K, DType::kQ8_0);
  CHECK(mixture == "every-type", "a known mixture");
  return any_type(place);
}

/// The number in "blk.N.…", or −1.
std::int64_t layer_of(std::string_view name) {
  std::int64_t layer = -1;
  if (name.starts_with("blk.")) {
    (void)std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  }
  return layer;
}

}  // namespace

std::vector<std::string_view> mixtures() { return {"Q4_K_M", "Q5_K_M", "Q6_K", "every-type"}; }

Bytes requantise(std::span<const std::byte> gguf, std::string_view mixture) {
  const auto file = model::parse_gguf(gguf);
  CHECK(file.ok(), "a valid model");
  fake::GgufWriter writer;
  for (const auto& [key, value] : file->metadata.values()) writer.raw(key, encoded(value));
  std::int64_t layers = 0;
  for (const auto& tensor : file->tensors) layers = std::max(layers, layer_of(tensor.name) + 1);
  for (const auto& tensor : file->tensors) {
    const ops::TensorView& view = tensor.view;
    std::vector<float> values(static_cast<std::size_t>(view.rows * view.cols));
    for (std::int64_t row = 0; row < view.rows; ++row) {
      ops::ref::dequantize_row(view, row,
                               std::span(values).subspan(static_cast<std::size_t>(row * view.cols),
                                                         static_cast<std::size_t>(view.cols)));
    }
    const bool vector = tensor.dims.size() == 1;
    const Place place{tensor.name, layer_of(tensor.name), layers, view.cols % 256 == 0};
    writer.tensor(tensor.name, vector ? 0 : view.rows, view.cols,
                  vector ? DType::kF32 : type_for(mixture, place), values);
  }
  return writer.finish();
}

}  // namespace kantha::golden
