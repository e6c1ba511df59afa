#include "noded/gateway/door_path.h"

#include <algorithm>
#include <string>

#include "base/net/ascii.h"

namespace kantha::noded {
namespace {

constexpr std::string_view kScheme = "http://";

bool is_alphanumeric(char c) {
  const char lower = net::to_lower(c);
  return net::is_digit(c) || (lower >= 'a' && lower <= 'z');
}

/// RFC 3986, section 2.3.
bool is_unreserved(char c) {
  return is_alphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos;
}

/// What else may stand in a path as it is: sub-delims, ":" and "@".
bool is_plain(char c) {
  return is_unreserved(c) || std::string_view("!$&'()*+,;=:@").find(c) != std::string_view::npos;
}

int hex_value(char c) {
  if (net::is_digit(c)) return c - '0';
  const char lower = net::to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// The byte that "%XY" at `at` stands for, when it may be escaped at all.
std::optional<char> escaped_at(std::string_view path, std::size_t at) {
  if (path.size() - at < 3) return std::nullopt;
  const int high = hex_value(path[at + 1]);
  const int low = hex_value(path[at + 2]);
  if (high < 0 || low < 0) return std::nullopt;
  const char byte = static_cast<char>(high * 16 + low);
  const bool is_needless = is_unreserved(byte);
  if (is_needless || net::is_control(byte) || byte == '\\' || byte == '%') return std::nullopt;
  return byte;
}

/// Unescaped, escaped slashes too; nullopt where the spelling is not ours.
std::optional<std::string> decoded(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%') {
      const auto byte = escaped_at(path, i);
      if (!byte) return std::nullopt;
      out += *byte;
      i += 2;
    } else if (path[i] == '/' || is_plain(path[i])) {
      out += path[i];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// No segment of an absolute path is empty, "." or "..".
bool has_real_segments(std::string_view path) {
  if (!path.starts_with('/')) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view segment = path.substr(0, end);
    if (segment.empty() || segment == "." || segment == "..") return false;
    path.remove_prefix(end);
  }
  return true;
}

bool is_authority(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_unreserved(c) || c == ':' || c == '[' || c == ']';
  });
}

}  // namespace

std::string_view origin_form(std::string_view target) {
  if (!net::starts_with_ignoring_case(target, kScheme)) return target;
  const std::size_t slash = target.find('/', kScheme.size());
  return slash == target.npos ? std::string_view("/") : target.substr(slash);
}

std::optional<std::string_view> canonical_path(std::string_view target) {
  const std::string_view rest = origin_form(target);
  if (rest.size() != target.size() || target == kScheme) {
    const std::size_t prefix = kScheme.size();
    const std::size_t end = target.find('/', prefix);
    if (!is_authority(target.substr(prefix, end == target.npos ? end : end - prefix))) {
      return std::nullopt;
    }
  }
  const std::string_view path = rest.substr(0, rest.find('?'));
  const auto plain = decoded(path);
  if (!plain || !has_real_segments(*plain)) return std::nullopt;
  return path;
}

}  // namespace kantha::noded
