#include <algorithm>

#include "engine/text/template_parser.h"

namespace kantha::text {
namespace {

std::string shown(const LexToken& token) {
  switch (token.kind) {
    case LexKind::kText: return "text";
    case LexKind::kVariableBegin: return "\"{{\"";
    case LexKind::kVariableEnd: return "\"}}\"";
    case LexKind::kBlockBegin: return "\"{%\"";
    case LexKind::kBlockEnd: return "\"%}\"";
    case LexKind::kEnd: return "the end of the template";
    case LexKind::kString: return "a string";
    default: return "\"" + token.text.substr(0, 60) + "\"";
  }
}

}  // namespace

const LexToken& TemplateCursor::peek(std::size_t ahead) const {
  return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
}

LexToken TemplateCursor::take() {
  if (next_ + 1 >= tokens_.size()) return tokens_.back();
  return std::move(tokens_[next_++]);
}

bool TemplateCursor::take_operator(std::string_view text) {
  const bool hit = at_operator(text);
  if (hit) ++next_;
  return hit;
}

bool TemplateCursor::take_name(std::string_view text) {
  const bool hit = at_name(text);
  if (hit) ++next_;
  return hit;
}

Status TemplateCursor::expect_operator(std::string_view text) {
  if (take_operator(text)) return ok_status();
  return unexpected("\"" + std::string(text) + "\"");
}

Status TemplateCursor::expect(LexKind kind, std::string_view what) {
  if (!at(kind)) return unexpected(what);
  take();
  return ok_status();
}

Result<std::string> TemplateCursor::expect_any_name(std::string_view what) {
  if (!at(LexKind::kName)) return unexpected(what);
  return take().text;
}

Error TemplateCursor::unexpected(std::string_view what) const {
  return invalid_argument("chat template, line " + std::to_string(peek().line) + ": expected " +
                          std::string(what) + ", got " + shown(peek()));
}

Status TemplateCursor::enter() {
  if (++depth_ <= depth_max_) return ok_status();
  return Error{Code::kOutOfRange, "chat template, line " + std::to_string(peek().line) +
                                      ": nested deeper than " + std::to_string(depth_max_)};
}

}  // namespace kantha::text
