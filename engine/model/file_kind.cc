#include "engine/model/file_kind.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace kantha::model {
namespace {

constexpr std::size_t kLookedAt = 4096;

struct Kind {
  std::string_view start;
  std::string_view phrase;
};

using namespace std::string_view_literals;

constexpr Kind kKinds[] = {
    {"version https://git-lfs"sv, "a Git LFS pointer (fetch the real file with git lfs pull)"sv},
    {"PK\x03\x04"sv, "a zip archive (a PyTorch checkpoint?)"sv},
    {"\x1f\x8b"sv, "a gzip file (unpack it first)"sv},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file (unpack it first)"sv},
    {"\x80\x02"sv, "a Python pickle"sv},
    {"ggml"sv, "a ggml file from before GGUF"sv},
    {"lmgg"sv, "a ggml file from before GGUF"sv},
    {"tjgg"sv, "a ggjt file from before GGUF"sv},
    {"fmgg"sv, "a ggmf file from before GGUF"sv},
    {"FUGG"sv, "a GGUF file with its bytes swapped"sv},
    {"{"sv, "JSON"sv},
};

bool is_html(std::string_view text) {
  std::string start(text.substr(0, 256));
  std::ranges::transform(start, start.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto first = start.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos) return false;
  const std::string_view rest = std::string_view(start).substr(first);
  return rest.starts_with("<!doctype html") || rest.starts_with("<html") ||
         rest.starts_with("<?xml") || rest.starts_with("<head");
}

}  // namespace

bool starts_like_gguf(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.starts_with("GGUF");
}

std::string describe_file(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "an empty file";
  const auto head = bytes.first(std::min(bytes.size(), kLookedAt));
  if (std::ranges::all_of(head, [](std::byte b) { return b == std::byte{0}; })) {
    return "a file of zeros (a download that never finished?)";
  }
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (is_html(text)) return "an HTML or XML page (an error page saved as a model?)";
  if (text.size() > 9 && text[8] == '{' && text.substr(4, 4) == "\0\0\0\0"sv) {
    return "a safetensors file";
  }
  for (const Kind& kind : kKinds) {
    if (text.starts_with(kind.start)) return std::string(kind.phrase);
  }
  if ("GGUF"sv.starts_with(text)) return "the first bytes of a GGUF file, cut off";
  return "something else (its first bytes are no format that we know)";
}

}  // namespace kantha::model
