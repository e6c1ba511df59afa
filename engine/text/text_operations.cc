#include "engine/text/text_operations.h"

#include <algorithm>

#include "engine/text/template_operators.h"
#include "engine/text/unicode_class.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

bool is_blank(char32_t code) {
  return code_class(code) == CodeClass::kSpace || (code >= 0x1C && code <= 0x1F);
}

/// Whether a character is to be trimmed away; `characters` is searched by code point.
bool goes(std::string_view character, std::optional<std::string_view> characters) {
  if (!characters) return is_blank(read_code_point(character, 0).code);
  for (std::size_t at = 0; at < characters->size();) {
    const std::size_t length = read_code_point(*characters, at).length;
    if (characters->substr(at, length) == character) return true;
    at += length;
  }
  return false;
}

std::size_t character_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

/// Runs a function over the code points of each stretch, keeping the stretch's origin.
template <class Function>
MarkedText mapped(const MarkedText& text, Function function) {
  MarkedText out;
  std::size_t at = 0;
  for (const MarkedText::Run& run : text.runs()) {
    std::string part;
    while (at < run.end) {
      const CodePoint point = read_code_point(text.bytes(), at);
      function(part, point.code);
      at += point.length;
    }
    out.append(part, run.from_input);
  }
  return out;
}

std::size_t line_end_length(std::string_view text, std::size_t at) {
  const CodePoint point = read_code_point(text, at);
  if (point.code == '\r' && at + 1 < text.size() && text[at + 1] == '\n') return 2;
  const bool ends = (point.code >= 0x0A && point.code <= 0x0D) ||
                    (point.code >= 0x1C && point.code <= 0x1E) || point.code == 0x85 ||
                    point.code == 0x2028 || point.code == 0x2029;
  return ends ? point.length : 0;
}

}  // namespace

MarkedText trimmed(const MarkedText& text, TrimEnds ends,
                   std::optional<std::string_view> characters) {
  const std::string_view bytes = text.bytes();
  std::size_t start = 0;
  std::size_t end = bytes.size();
  while (ends != TrimEnds::kRight && start < end) {
    const std::size_t length = read_code_point(bytes, start).length;
    if (!goes(bytes.substr(start, length), characters)) break;
    start += length;
  }
  while (ends != TrimEnds::kLeft && end > start) {
    const std::size_t last = character_before(bytes, end);
    if (!goes(bytes.substr(last, end - last), characters)) break;
    end = last;
  }
  return text.slice(start, std::max(start, end) - start);
}

std::vector<MarkedText> split_at(const MarkedText& text, std::string_view separator,
                                 std::int64_t count_max) {
  std::vector<MarkedText> parts;
  std::size_t start = 0;
  while (count_max < 0 || static_cast<std::int64_t>(parts.size()) < count_max) {
    const std::size_t at = find_text(text.bytes(), separator, start);
    if (at == std::string_view::npos) break;
    parts.push_back(text.slice(start, at - start));
    start = at + separator.size();
  }
  parts.push_back(text.slice(start));
  return parts;
}

std::vector<MarkedText> split_at_right(const MarkedText& text, std::string_view separator,
                                       std::int64_t count_max) {
  std::vector<MarkedText> parts;
  const std::string_view bytes = text.bytes();
  std::size_t end = bytes.size();
  std::size_t at = end;
  while (at >= separator.size() &&
         (count_max < 0 || static_cast<std::int64_t>(parts.size()) < count_max)) {
    if (bytes.substr(at - separator.size(), separator.size()) != separator) {
      --at;
      continue;
    }
    parts.push_back(text.slice(at, end - at));
    at -= separator.size();
    end = at;
  }
  parts.push_back(text.slice(0, end));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<MarkedText> split_at_blanks(const MarkedText& text, std::int64_t count_max) {
  std::vector<MarkedText> parts;
  MarkedText rest = trimmed(text, TrimEnds::kLeft);
  const std::string_view bytes = rest.bytes();
  std::size_t start = 0;
  while (start < bytes.size()) {
    if (count_max >= 0 && static_cast<std::int64_t>(parts.size()) == count_max) {
      parts.push_back(rest.slice(start));
      break;
    }
    std::size_t end = start;
    while (end < bytes.size() && !is_blank(read_code_point(bytes, end).code)) {
      end += read_code_point(bytes, end).length;
    }
    parts.push_back(rest.slice(start, end - start));
    start = end;
    while (start < bytes.size() && is_blank(read_code_point(bytes, start).code)) {
      start += read_code_point(bytes, start).length;
    }
  }
  return parts;
}

std::vector<MarkedText> split_lines(const MarkedText& text, bool keep_ends) {
  std::vector<MarkedText> lines;
  const std::string_view bytes = text.bytes();
  std::size_t start = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = line_end_length(bytes, at);
    if (end == 0) {
      at += read_code_point(bytes, at).length;
      continue;
    }
    lines.push_back(text.slice(start, at - start + (keep_ends ? end : 0)));
    at += end;
    start = at;
  }
  if (start < bytes.size()) lines.push_back(text.slice(start));
  return lines;
}

Result<MarkedText> replaced(const MarkedText& text, std::string_view old, const MarkedText& by,
                            std::int64_t count_max, std::size_t bytes_max) {
  MarkedText out;
  const std::string_view bytes = text.bytes();
  std::size_t start = 0;
  std::size_t from = 0;
  for (std::int64_t count = 0; count_max < 0 || count < count_max; ++count) {
    const std::size_t at = find_text(bytes, old, from);
    if (at == std::string_view::npos) break;
    out.append(text, start, at - start);
    out.append(by);
    if (out.size() > bytes_max) {
      return Error{Code::kOutOfRange,
                   "a text of more than " + std::to_string(bytes_max) + " bytes in a template"};
    }
    start = at + old.size();
    // An empty text stands between all characters and at both ends.
    from = start;
    if (old.empty() && at == bytes.size()) break;
    if (old.empty()) from += read_code_point(bytes, at).length;
  }
  out.append(text, start, bytes.size() - start);
  return out;
}

MarkedText in_case(const MarkedText& text, LetterCase wanted) {
  return mapped(text,
                [wanted](std::string& out, char32_t code) { append_in_case(out, code, wanted); });
}

MarkedText titled(const MarkedText& text) {
  bool inside = false;
  return mapped(text, [&inside](std::string& out, char32_t code) {
    append_in_case(out, code, inside ? LetterCase::kLower : LetterCase::kTitle);
    inside = is_cased(code);
  });
}

MarkedText capitalized(const MarkedText& text) {
  bool first = true;
  return mapped(text, [&first](std::string& out, char32_t code) {
    append_in_case(out, code, first ? LetterCase::kTitle : LetterCase::kLower);
    first = false;
  });
}

}  // namespace kantha::text
