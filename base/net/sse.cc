#include "base/net/sse.h"

#include <utility>

namespace kantha::net {
namespace {

/// Lines of a text; any of LF, CRLF and CR ends one.
std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = text.find_first_of("\r\n");
    lines.push_back(text.substr(0, end));
    if (end == text.npos) return lines;
    const bool is_crlf = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    text.remove_prefix(end + (is_crlf ? 2 : 1));
  }
}

std::string lines_with_prefix(std::string_view prefix, std::string_view text) {
  std::string out;
  out.reserve(text.size() + prefix.size() + 2);
  for (const std::string_view line : split_lines(text)) {
    out.append(prefix).append(line).push_back('\n');
  }
  out.push_back('\n');
  return out;
}

}  // namespace

std::string sse_data(std::string_view payload) { return lines_with_prefix("data: ", payload); }

std::string sse_comment(std::string_view text) { return lines_with_prefix(": ", text); }

std::vector<std::string> SseReader::feed(std::string_view bytes) {
  std::vector<std::string> payloads;
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') bytes.remove_prefix(1);
    const std::size_t end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (end == bytes.npos) break;
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line(payloads);
  }
  return payloads;
}

void SseReader::end_line(std::vector<std::string>& payloads) {
  if (std::exchange(is_first_line_, false) && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {
    // An event without data is dropped, as the standard has it.
    if (std::exchange(has_data_, false)) payloads.push_back(std::exchange(data_, {}));
    return;
  }
  const std::size_t colon = line.find(':');
  if (std::string_view(line).substr(0, colon) != "data") return;
  std::string_view value = colon == line.npos ? std::string_view() : line;
  if (colon != line.npos) value.remove_prefix(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (std::exchange(has_data_, true)) data_.push_back('\n');
  data_.append(value);
}

}  // namespace kantha::net
