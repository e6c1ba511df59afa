#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/dialect/call_reader.h"
#include "engine/dialect/mark_scan.h"
#include "engine/dialect/parsed.h"
#include "engine/dialect/syntax.h"
#include "engine/dialect/tool.h"

namespace kantha::dialect {

/// Parts calls from content, byte by byte. What begins like a call and is none is content, every
/// byte of it; white space next to a call is not. One answer; one thread.
class ToolSplit final : private CallSink {
 public:
  ToolSplit(ToolSyntax syntax, SharedTools tools);
  ToolSplit(ToolSplit&&) = default;
  ~ToolSplit() override;

  void take(char byte, Parsed& parsed);
  void end(Parsed& parsed);
  std::int32_t calls_begun() const { return calls_begun_; }
  std::int32_t calls_completed() const { return calls_completed_; }

  static constexpr std::int32_t kCallsMax = 128;  ///< what follows more is content

 private:
  const Tool* tool(std::string_view name) const override;
  void begin(std::string_view before) override;
  void announce(std::string_view name) override;
  void arguments(std::string_view text) override;
  void complete() override;
  void text(std::string_view text) override;

  void take_text(char byte);
  void take_call(char byte);
  bool begins_bare(char byte) const;
  std::unique_ptr<CallReader> reader_for(std::size_t mark) const;
  void put_content(char byte);
  void put_raw();

  const ToolSyntax syntax_;
  const SharedTools tools_;
  MarkScan open_;
  std::unique_ptr<CallReader> reader_;  ///< null outside of calls
  Parsed* out_ = nullptr;               ///< of the take() that is running
  std::string raw_;                     ///< of the call that is not certain yet
  bool certain_ = false;                ///< between announce() and complete()
  bool follows_call_ = false;           ///< the reader has read one already
  std::string blanks_;                  ///< content that may turn out to be next to a call
  bool has_content_ = false;
  std::int32_t calls_begun_ = 0;
  std::int32_t calls_completed_ = 0;
};

}  // namespace kantha::dialect
