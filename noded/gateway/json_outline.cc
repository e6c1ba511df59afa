#include "noded/gateway/json_outline.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/json.h"

namespace kantha::noded {
namespace {

constexpr std::size_t kMembersMax = 256;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Letters of numbers, true, false and null; the reader behind us checks their order.
bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' ||
         c == '.';
}

/// Walks over one text; every step gives false where the text is not what it should be.
class JsonWalk {
 public:
  JsonWalk(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  std::size_t at() const { return at_; }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool skip_string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const void* found = std::memchr(text_.data() + at_, '"', text_.size() - at_);
      if (found == nullptr) return false;
      const auto quote = static_cast<std::size_t>(static_cast<const char*>(found) - text_.data());
      std::size_t escapes = 0;
      while (quote - escapes > at_ && text_[quote - escapes - 1] == '\\') ++escapes;
      at_ = quote + 1;
      if (escapes % 2 == 0) return true;
    }
    return false;
  }

  bool skip_value() {
    if (at_ >= text_.size()) return false;
    const char c = text_[at_];
    if (c == '"') return skip_string();
    if (c == '{' || c == '[') return skip_nested();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
    return at_ > begin;
  }

 private:
  bool skip_nested() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_;
};

/// A name as it reads, given with its quotes.
std::optional<std::string> unescape(std::string_view quoted) {
  if (quoted.find('\\') == quoted.npos) return std::string(quoted.substr(1, quoted.size() - 2));
  const Result<Json> json = parse_json(quoted);
  if (!json.ok() || !json->is_string()) return std::nullopt;
  return json->get<std::string>();
}

bool ends_with_blanks(JsonWalk walk, std::size_t end) {
  walk.skip_blanks();
  return walk.at() == end;
}

}  // namespace

const JsonSpan* JsonObjectOutline::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &JsonMember::name);
  return found == members.end() ? nullptr : &found->value;
}

std::optional<JsonObjectOutline> outline_object(std::string_view text, JsonSpan span) {
  text = text.substr(0, span.end);
  JsonWalk walk(text, span.begin);
  JsonObjectOutline outline;
  walk.skip_blanks();
  if (!walk.take('{')) return std::nullopt;
  walk.skip_blanks();
  while (outline.members.empty() ? !walk.take('}') : walk.take(',')) {
    walk.skip_blanks();
    const std::size_t name_at = walk.at();
    if (!walk.skip_string()) return std::nullopt;
    auto name = unescape(text.substr(name_at, walk.at() - name_at));
    if (!name || outline.find(*name) != nullptr) return std::nullopt;
    walk.skip_blanks();
    if (!walk.take(':')) return std::nullopt;
    walk.skip_blanks();
    const std::size_t value_at = walk.at();
    if (!walk.skip_value() || outline.members.size() >= kMembersMax) return std::nullopt;
    outline.members.push_back({*std::move(name), {value_at, walk.at()}});
    walk.skip_blanks();
  }
  // An empty object's brace is taken already.
  if (!outline.members.empty() && !walk.take('}')) return std::nullopt;
  outline.close = walk.at() - 1;
  if (!ends_with_blanks(walk, text.size())) return std::nullopt;
  return outline;
}

std::optional<JsonArrayOutline> outline_array(std::string_view text, JsonSpan span) {
  text = text.substr(0, span.end);
  JsonWalk walk(text, span.begin);
  JsonArrayOutline outline;
  walk.skip_blanks();
  if (!walk.take('[')) return std::nullopt;
  walk.skip_blanks();
  while (outline.count == 0 ? !walk.take(']') : walk.take(',')) {
    walk.skip_blanks();
    const std::size_t value_at = walk.at();
    if (!walk.skip_value()) return std::nullopt;
    if (outline.count++ == 0) outline.first = {value_at, walk.at()};
    walk.skip_blanks();
  }
  if (outline.count > 0 && !walk.take(']')) return std::nullopt;
  outline.close = walk.at() - 1;
  if (!ends_with_blanks(walk, text.size())) return std::nullopt;
  return outline;
}

}  // namespace kantha::noded
