#include "engine/serve/answer_text.h"

#include <utility>

namespace kantha::serve {

AnswerText::AnswerText(const text::Tokenizer& tokenizer, const Marks& marks, const AnswerForm& form,
                       std::vector<std::string> stop, bool include_stop)
    : tokenizer_(tokenizer),
      marks_(marks),
      shows_reasoning_(form.shows_reasoning),
      must_call_(!form.opening.empty()),
      raw_(tokenizer, {}),
      content_(tokenizer, std::move(stop), include_stop) {
  if (form.parser) parser_.emplace(*form.parser);
}

std::string_view AnswerText::bytes_of(TokenId id) const {
  if (parser_) {
    const auto mark = marks_.find(id);
    if (mark != marks_.end()) return mark->second;
  }
  return tokenizer_.bytes_of(id);
}

/// The parser's content through the stop strings. What came with a stop string is not told.
dialect::Parsed AnswerText::read(dialect::Parsed parsed, bool watched) {
  parsed.content = content_.push_bytes(parsed.content, watched);
  if (content_.stopped()) parsed.calls.clear();
  if (!shows_reasoning_) parsed.reasoning.clear();
  return parsed;
}

dialect::Parsed AnswerText::push(TokenId id, bool watched) {
  const std::string_view bytes = bytes_of(id);
  if (!parser_) return {.content = content_.push_bytes(bytes, watched)};
  if (stopped()) return {};
  return read(parser_->push(raw_.push_bytes(bytes)), watched);
}

dialect::Parsed AnswerText::flush() {
  if (!parser_) return {.content = content_.flush()};
  if (stopped()) return {};
  dialect::Parsed parsed = parser_->push(raw_.flush());
  parsed.append(parser_->finish());
  if (must_call_ && parser_->calls() == 0) parsed.content.clear();
  parsed = read(std::move(parsed), /*watched=*/true);
  parsed.content += content_.flush();
  return parsed;
}

}  // namespace kantha::serve
