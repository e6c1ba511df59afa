#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "engine/dialect/tool.h"

/// The part of a parser that knows one way of writing calls.
namespace kantha::dialect {

/// A call's name, arguments and text between calls go here as they are read.
class CallSink {
 public:
  virtual ~CallSink() = default;
  /// The function, or null when the request has none of that name (or calls enough already).
  virtual const Tool* tool(std::string_view name) const = 0;
  /// Another call may begin here: `before` and the byte that is being taken are its first ones, and
  /// what came since the last call only led to it.
  virtual void begin(std::string_view before) = 0;
  /// The call is certain: it has a known name and its arguments have begun.
  virtual void announce(std::string_view name) = 0;
  virtual void arguments(std::string_view text) = 0;
  /// The announced call has all its arguments.
  virtual void complete() = 0;
  /// Text that stands where none is expected; it is content.
  virtual void text(std::string_view text) = 0;
};

/// How a byte was taken.
enum class Step {
  kMore,    ///< it belongs here
  kDone,    ///< it was the last one of the calls
  kPast,    ///< the calls ended before it: it is the next text's
  kBroken,  ///< this is no call: it, and what was not certain before it, is text
};

/// Reads calls byte by byte from behind the mark that opened them. Every length that it keeps is
/// bounded by kHeldBytesMax, apart from the arguments that it passes on. One thread.
class CallReader {
 public:
  virtual ~CallReader() = default;
  virtual Step take(char byte, CallSink& sink) = 0;
  /// The output ended. True when the bytes of an uncertain call are text; false when nothing but
  /// closing marks is missing.
  virtual bool end(CallSink& sink) = 0;
};

/// The most that is kept of a call before it is certain, and of anything else that must wait.
inline constexpr std::size_t kHeldBytesMax = 16u << 10;

}  // namespace kantha::dialect
