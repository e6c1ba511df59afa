#include "operator/kube/lean_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

/// Position of the bracket that closes the one at `at`, of either kind; npos when there is none.
std::size_t closing_bracket(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      if (at == std::string_view::npos) return at;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return at;
    ++at;
  }
  return std::string_view::npos;
}

/// Which names are to go; most are told apart by their length alone.
class Unread {
 public:
  explicit Unread(MemberNames names) : names_(names) {
    note_length(kManagedFields);
    for (const std::string_view name : names) note_length(name);
  }
  bool contains(std::string_view name) const {
    if (name.size() > 63 || ((lengths_ >> name.size()) & 1) == 0) return false;
    return name == kManagedFields || std::ranges::find(names_, name) != names_.end();
  }

 private:
  static constexpr std::string_view kManagedFields = "managedFields";
  void note_length(std::string_view name) {
    if (name.size() <= 63) lengths_ |= std::uint64_t{1} << name.size();
  }

  MemberNames names_;
  std::uint64_t lengths_ = 0;  ///< bit n: one of them has n bytes
};

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

std::string_view without_members(std::string_view text, MemberNames names, std::string& room) {
  const Unread unread(names);
  room.clear();
  std::size_t kept = 0;  // what stands before this was seen to
  for (std::size_t at = text.find('"'); at < text.size(); at = text.find('"', at)) {
    const std::size_t end = skip_string(text, at);
    if (end >= text.size()) break;
    const std::string_view name = text.substr(at + 1, end - at - 2);
    at = end;
    // Only a member's name is followed by a colon.
    if (text[end] != ':' || !unread.contains(name)) continue;
    at = skip_space(text, end + 1);
    if (at == text.size() || (text[at] != '[' && text[at] != '{')) continue;
    const std::size_t last = closing_bracket(text, at);
    if (last == std::string_view::npos) break;
    room.append(text.substr(kept, at + 1 - kept));
    kept = at = last;
  }
  if (kept == 0) return text;
  room.append(text.substr(kept));
  return room;
}

}  // namespace kantha::kube
