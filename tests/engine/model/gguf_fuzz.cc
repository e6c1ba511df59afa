#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/model/model_from_bytes.h"

/// libFuzzer's entry: any bytes load or are refused. Build with -DKANTHA_FUZZ=ON; run as
///   gguf_fuzz -max_len=65536 -max_total_time=600 -rss_limit_mb=512 CORPUS_FOLDER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSizeMax = 1 << 20;
  if (size > kSizeMax) return -1;
  const auto loaded = kantha::model::model_from_bytes(std::as_bytes(std::span(data, size)));
  if (!loaded.ok()) return 0;
  // The first and last byte of each matrix must be readable.
  std::uint64_t sum = 0;
  for (const auto& layer : loaded->llama.layers) {
    for (const auto* view :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      sum += std::to_integer<std::uint64_t>(view->bytes.front()) +
             std::to_integer<std::uint64_t>(view->bytes.back());
    }
  }
  volatile std::uint64_t sink = sum;
  (void)sink;
  return 0;
}
