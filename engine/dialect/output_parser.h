#pragma once

#include <cstdint>
#include <string_view>

#include "engine/dialect/parsed.h"
#include "engine/dialect/reasoning_split.h"
#include "engine/dialect/syntax.h"
#include "engine/dialect/tool.h"
#include "engine/dialect/tool_split.h"

namespace kantha::dialect {

/// What one answer is read by. Plain data.
struct ParserOptions {
  ToolSyntax tools = {};           ///< kNone: calls are content
  SharedTools offered = {};        ///< functions that may be called; null: none
  ReasoningSyntax reasoning = {};  ///< empty: reasoning is content
  bool inside_reasoning = false;   ///< the prompt opened it
  bool one_call = false;           ///< the answer ends with its first call
  std::uint64_t id_seed = 0;       ///< the calls' ids are a function of it
};

/// Reads one answer as it is generated: reasoning, content and calls. Takes the text byte by byte
/// inside, so that nothing depends on how it is cut; everything that it gives and every state is a
/// function of the bytes so far. Text that is no call after all is content, byte for byte. Cost per
/// byte is constant, memory bounded by kHeldBytesMax. One thread.
class OutputParser {
 public:
  explicit OutputParser(ParserOptions options);

  Parsed push(std::string_view text);
  /// What was kept back, at the end of the output.
  Parsed finish();
  /// The next text would be reasoning, as far as one knows.
  bool is_reasoning() const { return reasoning_.is_inside(); }
  /// The answer proper has begun.
  bool is_past_reasoning() const { return reasoning_.is_past(); }
  std::int32_t calls() const { return tools_.calls_begun(); }
  /// The answer is complete whatever follows (one_call); further text is dropped.
  bool done() const { return one_call_ && tools_.calls_completed() > 0; }

 private:
  void number(Parsed& parsed);

  ReasoningSplit reasoning_;
  ToolSplit tools_;
  const bool one_call_;
  const std::uint64_t id_seed_;
};

/// "call_" and 24 hexadecimal digits: a function of the seed and the call's place. Pure.
std::string call_id(std::uint64_t seed, std::int32_t index);

}  // namespace kantha::dialect
