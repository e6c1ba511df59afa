#include "noded/models/content_rules.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace kantha::noded {
namespace {

constexpr std::string_view kMagic = "GGUF";
/// Magic, version, number of tensors and of keys (the GGUF specification).
constexpr std::size_t kHeaderBytes = 24;

bool is_zeros(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
}

/// The beginning as lower-case text, without a byte order mark and blanks.
std::string text_start(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  const std::size_t from = head.find_first_not_of(" \t\r\n");
  if (from == head.npos) return {};
  std::string out(head.substr(from, 64));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string first_bytes(std::string_view head) {
  std::string out;
  for (const char c : head.substr(0, 4)) {
    std::array<char, 4> hex = {};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(c));
    out += (out.empty() ? "" : " ") + std::string(hex.data());
  }
  return out;
}

}  // namespace

std::string content_problem(std::string_view head) {
  head = head.substr(0, kContentHeadBytes);
  if (head.empty()) return "the file is empty";
  const std::string text = text_start(head);
  if (text.starts_with("version https://git-lfs")) {
    return "the file is a Git LFS pointer, not the weights it points to";
  }
  if (text.starts_with("<!doctype html") || text.starts_with("<html")) {
    return "the file is an HTML page, not weights";
  }
  if (text.starts_with("<?xml")) return "the file is an XML page, not weights";
  if (is_zeros(head)) return "the file begins with " + std::to_string(head.size()) + " zero bytes";
  if (!head.starts_with(kMagic)) {
    const bool is_json = text.starts_with('{') || text.starts_with('[');
    return std::string("the file is not GGUF: it begins with ") + first_bytes(head) +
           (is_json ? " (JSON?)" : "") + " instead of 47 47 55 46";
  }
  if (head.size() < kHeaderBytes) {
    return "the file is truncated: " + std::to_string(head.size()) + " bytes are no GGUF header";
  }
  if (is_zeros(head.substr(kMagic.size(), kHeaderBytes - kMagic.size()))) {
    return "the file is zero-filled after its first four bytes";
  }
  return {};
}

}  // namespace kantha::noded
