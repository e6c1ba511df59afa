#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "engine/dialect/output_parser.h"
#include "engine/text/detokenizer.h"
#include "engine/text/tokenizer.h"

namespace kantha::serve {

/// How an answer is told apart into content, reasoning and calls. Plain data.
struct AnswerForm {
  /// Absent: everything is content.
  std::optional<dialect::ParserOptions> parser = {};
  bool shows_reasoning = true;
  bool names_call = false;  ///< one function had to be called: the answer ends with "stop"
  /// After so many tokens of reasoning `reasoning_end` is put in; absent: never.
  std::optional<std::int32_t> reasoning_tokens_max = {};
  std::vector<TokenId> reasoning_end = {};
  /// Put in where the answer proper begins: the beginning of a call that must come.
  std::vector<TokenId> opening = {};

  /// Tokens may come that the model did not choose.
  bool puts_in() const { return reasoning_tokens_max.has_value() || !opening.empty(); }
};

/// The tokens of one answer to what the client sees of them. With a parser, stop strings are looked
/// for in the content only. All of it is a function of the tokens so far. One thread.
class AnswerText {
 public:
  using Marks = std::unordered_map<TokenId, std::string>;
  /// `marks` are control tokens that a parser reads as text; both outlive this.
  AnswerText(const text::Tokenizer& tokenizer, const Marks& marks, const AnswerForm& form,
             std::vector<std::string> stop, bool include_stop);

  /// What a token completes. `watched`: it counts for stop strings.
  dialect::Parsed push(TokenId id, bool watched);
  /// What was held back, at the end.
  dialect::Parsed flush();
  /// A stop string came, or the only call that was wanted.
  bool stopped() const { return content_.stopped() || (parser_ && parser_->done()); }
  /// Which stop string it was.
  std::optional<std::size_t> stopped_by() const { return content_.stopped_by(); }
  bool parses() const { return parser_.has_value(); }
  bool is_reasoning() const { return parser_ && parser_->is_reasoning(); }
  bool is_past_reasoning() const { return !parser_ || parser_->is_past_reasoning(); }
  std::int32_t calls() const { return parser_ ? parser_->calls() : 0; }
  /// Bytes that a token adds to the text.
  std::string_view bytes_of(TokenId id) const;
  /// Bytes of the text that were shown, without a parser.
  std::size_t shown() const { return content_.shown(); }

 private:
  dialect::Parsed read(dialect::Parsed parsed, bool watched);

  const text::Tokenizer& tokenizer_;
  const Marks& marks_;
  const bool shows_reasoning_;
  const bool must_call_;  ///< a call that has not become one is not told
  text::Detokenizer raw_;      ///< before the parser
  text::Detokenizer content_;  ///< finds the stop strings
  std::optional<dialect::OutputParser> parser_;
};

}  // namespace kantha::serve
