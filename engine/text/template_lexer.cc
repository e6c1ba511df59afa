#include "engine/text/template_lexer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "engine/text/string_escapes.h"
#include "engine/text/unicode_class.h"
#include "engine/text/utf8.h"

namespace kantha::text {
namespace {

/// Line ends become \n and one at the very end goes, before anything else is looked at.
std::string normal_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out.push_back('\n');
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

/// Python's str.isspace for one code point.
bool is_blank(char32_t code) {
  return code_class(code) == CodeClass::kSpace || (code >= 0x1C && code <= 0x1F);
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint point = read_code_point(text, at);
    if (!is_blank(point.code)) break;
    at += point.length;
  }
  return at;
}

std::string_view without_trailing_blanks(std::string_view text) {
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (!is_blank(read_code_point(text, last).code)) break;
    text = text.substr(0, last);
  }
  return text;
}

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_name(char c) { return starts_name(c) || is_digit(c); }

constexpr std::array<std::string_view, 27> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
    "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", "!"};

/// How a tag cuts the text before it.
enum class TagSign : std::uint8_t { kNone, kMinus, kPlus };

class TemplateLexer {
 public:
  explicit TemplateLexer(std::string_view source) : owned_(normal_newlines(source)) {
    source_ = owned_;
  }

  Result<std::vector<LexToken>> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      if (tag == std::string_view::npos) {
        add(LexKind::kText, std::string(source_.substr(at_)));
        break;
      }
      TRY_OK(take_tag(tag));
    }
    at_ = source_.size();
    add(LexKind::kEnd, {});
    return std::move(tokens_);
  }

 private:
  Error bad(std::size_t at, const std::string& what) {
    return invalid_argument("chat template, line " + std::to_string(line_at(at)) + ": " + what);
  }

  /// Lines are asked for in ascending order, nearly always.
  std::uint32_t line_at(std::size_t at) {
    if (at < line_from_) {
      line_from_ = 0;
      line_ = 1;
    }
    for (; line_from_ < at && line_from_ < source_.size(); ++line_from_) {
      if (source_[line_from_] == '\n') ++line_;
    }
    return line_;
  }

  void add(LexKind kind, std::string text) {
    if (kind == LexKind::kText && text.empty()) return;
    tokens_.push_back({kind, line_at(at_), std::move(text)});
  }

  std::size_t next_tag() const {
    for (std::size_t at = source_.find('{', at_); at != std::string_view::npos;
         at = source_.find('{', at + 1)) {
      if (at + 1 == source_.size()) break;
      const char next = source_[at + 1];
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return std::string_view::npos;
  }

  TagSign sign_at(std::size_t at) const {
    if (at >= source_.size()) return TagSign::kNone;
    if (source_[at] == '-') return TagSign::kMinus;
    return source_[at] == '+' ? TagSign::kPlus : TagSign::kNone;
  }

  /// The text from at_ to a tag, cut as the tag wants it.
  std::string_view text_before(std::size_t tag, TagSign sign, bool is_variable) const {
    const std::string_view text = source_.substr(at_, tag - at_);
    if (sign == TagSign::kMinus) return without_trailing_blanks(text);
    if (sign == TagSign::kPlus || is_variable) return text;
    const std::size_t newline = text.rfind('\n');
    if (newline == std::string_view::npos && !line_starts_) return text;
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    return skip_blanks(text, line) == text.size() ? text.substr(0, line) : text;
  }

  /// Past the end of a block or comment: with - all blanks, without a sign one line end.
  void pass_end(std::size_t end, TagSign sign, bool trims_newline) {
    const std::size_t from = end;
    if (sign == TagSign::kMinus) {
      end = skip_blanks(source_, end);
    } else if (trims_newline && sign == TagSign::kNone && end < source_.size() &&
               source_[end] == '\n') {
      ++end;
    }
    line_starts_ = end > from && source_[end - 1] == '\n';
    at_ = end;
  }

  Status take_tag(std::size_t tag) {
    const char kind = source_[tag + 1];
    const TagSign sign = sign_at(tag + 2);
    const std::size_t inside = tag + 2 + (sign == TagSign::kNone ? 0 : 1);
    add(LexKind::kText, std::string(text_before(tag, sign, kind == '{')));
    if (kind == '#') return take_comment(tag, inside);
    if (kind == '%') {
      if (const auto raw = raw_begin_end(inside)) return take_raw(tag, *raw);
    }
    at_ = tag;
    add(kind == '{' ? LexKind::kVariableBegin : LexKind::kBlockBegin, {});
    at_ = inside;
    return take_inside(kind == '{');
  }

  Status take_comment(std::size_t tag, std::size_t inside) {
    const std::size_t end = source_.find("#}", inside);
    if (end == std::string_view::npos) return bad(tag, "expected #} to end the comment");
    pass_end(end + 2, end > inside ? sign_at(end - 1) : TagSign::kNone, true);
    return ok_status();
  }

  /// Where "raw %}" behind a block begin ends, white space after -%} included.
  std::optional<std::size_t> raw_begin_end(std::size_t inside) const {
    std::size_t at = skip_blanks(source_, inside);
    if (source_.substr(at, 3) != "raw") return std::nullopt;
    at = skip_blanks(source_, at + 3);
    if (source_.substr(at, 2) == "%}") return at + 2;
    if (source_.substr(at, 3) == "-%}") return skip_blanks(source_, at + 3);
    return std::nullopt;
  }

  Status take_raw(std::size_t tag, std::size_t start) {
    line_starts_ = source_[start - 1] == '\n';
    at_ = start;
    for (std::size_t open = source_.find("{%", start); open != std::string_view::npos;
         open = source_.find("{%", open + 2)) {
      const TagSign sign = sign_at(open + 2);
      std::size_t at = skip_blanks(source_, open + (sign == TagSign::kNone ? 2 : 3));
      if (source_.substr(at, 6) != "endraw") continue;
      at = skip_blanks(source_, at + 6);
      const TagSign end_sign = sign_at(at);
      if (end_sign != TagSign::kNone) ++at;
      if (source_.substr(at, 2) != "%}") continue;
      add(LexKind::kText, std::string(text_before(open, sign, false)));
      pass_end(at + 2, end_sign, true);
      return ok_status();
    }
    return bad(tag, "expected {% endraw %} to end the raw block");
  }

  /// The end of the tag at at_, when it is there: its length with the sign.
  bool take_end(bool is_variable) {
    if (!open_.empty()) return false;
    const TagSign sign = sign_at(at_);
    const std::string_view mark = is_variable ? "}}" : "%}";
    const bool signed_end = sign == TagSign::kMinus || (sign == TagSign::kPlus && !is_variable);
    const std::size_t at = at_ + (signed_end ? 1 : 0);
    if (source_.substr(at, 2) != mark) return false;
    add(is_variable ? LexKind::kVariableEnd : LexKind::kBlockEnd, {});
    pass_end(at + 2, signed_end ? sign : TagSign::kNone, !is_variable);
    return true;
  }

  Status take_inside(bool is_variable) {
    const std::size_t begin = at_;
    open_.clear();
    for (;;) {
      at_ = skip_blanks(source_, at_);
      if (at_ >= source_.size()) {
        return bad(begin, is_variable ? "expected }} to end the expression"
                                      : "expected %} to end the block");
      }
      if (take_end(is_variable)) return ok_status();
      const char c = source_[at_];
      if (starts_name(c)) {
        take_name();
      } else if (is_digit(c)) {
        take_number();
      } else if (c == '\'' || c == '"') {
        TRY_OK(take_string(c));
      } else {
        TRY_OK(take_operator());
      }
    }
  }

  void take_name() {
    std::size_t end = at_;
    while (end < source_.size() && continues_name(source_[end])) ++end;
    add(LexKind::kName, std::string(source_.substr(at_, end - at_)));
    at_ = end;
  }

  std::size_t digits_end(std::size_t at) const {
    while (at < source_.size() && (is_digit(source_[at]) || source_[at] == '_')) ++at;
    return at;
  }

  char char_at(std::size_t at) const { return at < source_.size() ? source_[at] : '\0'; }

  void take_number() {
    std::size_t end = digits_end(at_);
    LexKind kind = LexKind::kInteger;
    const char base = static_cast<char>(char_at(at_ + 1) | 32);
    if (source_[at_] == '0' && (base == 'x' || base == 'o' || base == 'b')) {
      end = at_ + 2;
      while (end < source_.size() && continues_name(source_[end])) ++end;
    } else {
      if (char_at(end) == '.' && is_digit(char_at(end + 1))) {
        kind = LexKind::kFloat;
        end = digits_end(end + 1);
      }
      const std::size_t sign = char_at(end + 1) == '+' || char_at(end + 1) == '-' ? 1 : 0;
      if ((char_at(end) | 32) == 'e' && is_digit(char_at(end + 1 + sign))) {
        kind = LexKind::kFloat;
        end = digits_end(end + 1 + sign);
      }
    }
    std::string digits(source_.substr(at_, end - at_));
    std::erase(digits, '_');
    add(kind, std::move(digits));
    at_ = end;
  }

  Status take_string(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
      return bad(at_, "expected " + std::string(1, quote) + " to end the string");
    auto value = unescape_string(source_.substr(at_ + 1, end - at_ - 1));
    if (!value.ok()) return bad(at_, value.error().message);
    add(LexKind::kString, std::move(value).value());
    at_ = end + 1;
    return ok_status();
  }

  Status take_operator() {
    const auto found = std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view op) {
      return source_.substr(at_, op.size()) == op;
    });
    if (found == kOperators.end() || *found == "!") {
      const CodePoint point = read_code_point(source_, at_);
      return bad(at_,
                 "unexpected character \"" + std::string(source_.substr(at_, point.length)) + "\"");
    }
    const char c = found->front();
    if (c == '(' || c == '[' || c == '{') {
      open_.push_back(c == '(' ? ')' : (c == '[' ? ']' : '}'));
    } else if (c == ')' || c == ']' || c == '}') {
      if (open_.empty()) return bad(at_, "unexpected \"" + std::string(1, c) + "\"");
      if (open_.back() != c) {
        return bad(at_, "expected \"" + std::string(1, open_.back()) + "\", got \"" +
                            std::string(1, c) + "\"");
      }
      open_.pop_back();
    }
    add(LexKind::kOperator, std::string(*found));
    at_ += found->size();
    return ok_status();
  }

  std::string owned_;
  std::string_view source_;
  std::size_t at_ = 0;
  bool line_starts_ = true;  ///< at_ is at the start of a line
  std::string open_;         ///< closing brackets that are awaited
  std::size_t line_from_ = 0;
  std::uint32_t line_ = 1;
  std::vector<LexToken> tokens_;
};

}  // namespace

Result<std::vector<LexToken>> lex_template(std::string_view source) {
  return TemplateLexer(source).run();
}

}  // namespace kantha::text
