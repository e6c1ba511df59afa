#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Server-sent events (WHATWG HTML, section 9.2), as much as OpenAI's streams use.
namespace kantha::net {

/// "data: <payload>\n\n"; a payload with line breaks becomes several data lines.
std::string sse_data(std::string_view payload);
/// ": <text>\n\n", a comment that keeps proxies awake and that clients ignore.
std::string sse_comment(std::string_view text);

/// Cuts a byte stream into the payloads of its data events, however the bytes are split.
class SseReader {
 public:
  /// Takes more bytes; gives the payloads completed by them. Handles LF, CRLF, CR and a byte order
  /// mark; fields other than data are skipped. The caller bounds an event with pending_bytes().
  std::vector<std::string> feed(std::string_view bytes);
  /// Bytes of an event that has not ended yet.
  std::size_t pending_bytes() const { return line_.size() + data_.size(); }

 private:
  void end_line(std::vector<std::string>& payloads);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;
  bool is_first_line_ = true;
};

}  // namespace kantha::net
