#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// A template's source as tokens. White space around tags is already cut as trim_blocks,
/// lstrip_blocks and the signs - and + in the tags say; comments and raw tags are gone.
namespace kantha::text {

enum class LexKind : std::uint8_t {
  kText,           ///< text between tags, cut
  kVariableBegin,  ///< {{
  kVariableEnd,    ///< }}
  kBlockBegin,     ///< {%
  kBlockEnd,       ///< %}
  kName,
  kString,    ///< text: the value, escapes done
  kInteger,   ///< text: digits, with a 0x, 0o or 0b prefix
  kFloat,     ///< text: as std::from_chars takes it
  kOperator,  ///< text: one of Jinja's operators
  kEnd,
};

struct LexToken {
  LexKind kind = LexKind::kEnd;
  std::uint32_t line = 1;
  std::string text;
};

/// kInvalidArgument with the line and what was expected. The last token is kEnd.
Result<std::vector<LexToken>> lex_template(std::string_view source);

}  // namespace kantha::text
