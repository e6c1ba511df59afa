#include "operator/kube/lean_text.h"

#include <cstddef>

namespace kantha::kube {
namespace {

/// Inside a string its quotes would be escaped, so this is a member's name wherever it stands.
constexpr std::string_view kMember = "\"managedFields\":";

std::size_t skip_space(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(" \t\r\n", at);
  return found == std::string_view::npos ? text.size() : found;
}

/// Position after the string whose first quote is at `at`; npos when it does not end.
std::size_t skip_string(std::string_view text, std::size_t at) {
  while (true) {
    at = text.find('"', at + 1);
    if (at == std::string_view::npos) return at;
    std::size_t slashes = 0;
    while (text[at - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return at + 1;
  }
}

/// Position of the bracket that closes the one at `at`; npos when there is none.
std::size_t closing_bracket(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      if (at == std::string_view::npos) return at;
      continue;
    }
    if (c == '[') ++depth;
    if (c == ']' && --depth == 0) return at;
    ++at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view without_managed_fields(std::string_view text, std::string& room) {
  room.clear();
  std::size_t kept = 0;  // what stands before this was seen to
  for (std::size_t at = text.find(kMember); at != std::string_view::npos;
       at = text.find(kMember, at)) {
    at = skip_space(text, at + kMember.size());
    if (at == text.size() || text[at] != '[') continue;
    const std::size_t end = closing_bracket(text, at);
    if (end == std::string_view::npos) break;
    room.append(text.substr(kept, at + 1 - kept));
    kept = at = end;
  }
  if (kept == 0) return text;
  room.append(text.substr(kept));
  return room;
}

}  // namespace kantha::kube
