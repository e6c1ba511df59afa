#include "noded/fleet/prompt_key.h"

#include "base/rng.h"

namespace kantha::noded {
namespace {

/// FNV-1a (Fowler, Noll, Vo), over bytes that come one by one.
class Fnv {
 public:
  void add(char byte) {
    bits_ ^= static_cast<unsigned char>(byte);
    bits_ *= 0x100000001b3ULL;
  }
  void add(std::string_view text) {
    for (const char byte : text) add(byte);
  }
  /// Mixed, since the last bytes reach only the low bits.
  std::uint64_t value() const { return random_bits(bits_, 0); }

 private:
  std::uint64_t bits_ = 0xcbf29ce484222325ULL;
};

bool is_blank(char byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

/// Walks JSON text without checking more of it than it needs.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  char here() const { return text_[at_]; }

  void skip_blanks() {
    while (!at_end() && is_blank(here())) ++at_;
  }

  /// Steps over `byte` after blanks.
  bool take(char byte) {
    skip_blanks();
    if (at_end() || here() != byte) return false;
    ++at_;
    return true;
  }

  /// The raw text of a string, whose opening quote is next; empty at the end of the text.
  std::string_view take_string() {
    const std::size_t from = ++at_;
    while (!at_end() && here() != '"') at_ += here() == '\\' ? 2 : 1;
    if (at_end()) return {};
    return text_.substr(from, at_++ - from);
  }

  /// Steps over one value of any kind; stops before the comma or bracket behind it.
  void skip_value() {
    std::int64_t depth = 0;
    while (!at_end()) {
      const char byte = here();
      const bool closes = byte == '}' || byte == ']';
      if (depth == 0 && (closes || byte == ',')) return;
      if (byte == '"') {
        take_string();
        continue;
      }
      depth += byte == '{' || byte == '[' ? 1 : 0;
      depth -= closes ? 1 : 0;
      ++at_;
    }
  }

  std::string_view rest() const { return text_.substr(at_ < text_.size() ? at_ : text_.size()); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// The text of the value of a key of the outermost object; empty when it is not found.
std::string_view value_of(std::string_view body, std::string_view key) {
  JsonWalk walk(body);
  if (!walk.take('{')) return {};
  do {
    walk.skip_blanks();
    if (walk.at_end() || walk.here() != '"') return {};
    const std::string_view name = walk.take_string();
    if (!walk.take(':')) return {};
    walk.skip_blanks();
    if (name == key) return walk.rest();
    walk.skip_value();
  } while (walk.take(','));
  return {};
}

/// Adds the first bytes of a value, blanks between its parts left out; how many there were.
std::size_t add_leading(Fnv& hash, std::string_view value, std::size_t count_max) {
  std::size_t count = 0;
  std::int64_t depth = 0;
  bool in_string = false;
  bool escaped = false;
  for (const char byte : value) {
    if (count == count_max) break;
    if (!in_string && is_blank(byte)) continue;
    if (!in_string && depth == 0 && count > 0 && (byte == ',' || byte == '}')) break;
    hash.add(byte);
    ++count;
    if (in_string) {
      const bool quote = byte == '"' && !escaped;
      escaped = byte == '\\' && !escaped;
      in_string = !quote;
    } else {
      in_string = byte == '"';
      depth += byte == '{' || byte == '[' ? 1 : 0;
      depth -= byte == '}' || byte == ']' ? 1 : 0;
    }
    if (depth == 0 && !in_string && count > 1) break;  // the value has ended
  }
  return count;
}

}  // namespace

std::uint64_t text_bits(std::string_view text) {
  Fnv hash;
  hash.add(text);
  return hash.value();
}

std::optional<std::uint64_t> prompt_key(std::string_view path, std::string_view body,
                                        std::string_view tenant, const PromptKeyPolicy& policy) {
  const bool chat = path == "/v1/chat/completions";
  if (!chat && path != "/v1/completions") return std::nullopt;
  const std::string_view scanned = body.substr(0, policy.scan_bytes_max);
  const std::string_view value = value_of(scanned, chat ? "messages" : "prompt");
  Fnv hash;
  hash.add(tenant);
  hash.add('\0');
  const std::size_t count = add_leading(hash, value, policy.prefix_bytes);
  if (count < policy.prefix_bytes_min) return std::nullopt;
  return hash.value();
}

}  // namespace kantha::noded
