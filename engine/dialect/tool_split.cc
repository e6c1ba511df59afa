#include "engine/dialect/tool_split.h"

#include <utility>
#include <vector>

#include "engine/dialect/deepseek_calls.h"
#include "engine/dialect/json_bytes.h"
#include "engine/dialect/json_calls.h"
#include "engine/dialect/mistral_calls.h"
#include "engine/dialect/python_calls.h"
#include "engine/dialect/xml_calls.h"

namespace kantha::dialect {
namespace {

constexpr std::size_t kBare = static_cast<std::size_t>(-1);  ///< a call without an opening mark

std::vector<std::string> opening_marks(const ToolSyntax& syntax) {
  switch (syntax.style) {
    case ToolStyle::kNone: return {};
    case ToolStyle::kJson: return {syntax.open};
    case ToolStyle::kLlama: return {"<|python_tag|>"};
    case ToolStyle::kMistral: return {"[TOOL_CALLS]"};
    case ToolStyle::kPythonic: return {"<|python_start|>", "<|tool_call_start|>"};
    case ToolStyle::kDeepseek: return {DeepseekCalls::kCallsBegin, DeepseekCalls::kCallBegin};
    case ToolStyle::kXml: return {"<tool_call>", "<function="};
  }
  return {};
}

}  // namespace

ToolSplit::ToolSplit(ToolSyntax syntax, SharedTools tools)
    : syntax_(std::move(syntax)), tools_(std::move(tools)), open_(opening_marks(syntax_)) {}

ToolSplit::~ToolSplit() = default;

std::unique_ptr<CallReader> ToolSplit::reader_for(std::size_t mark) const {
  switch (syntax_.style) {
    case ToolStyle::kNone:
    case ToolStyle::kJson: return std::make_unique<JsonCalls>(syntax_.close);
    case ToolStyle::kLlama: return std::make_unique<JsonCalls>("");
    case ToolStyle::kMistral: return std::make_unique<MistralCalls>();
    case ToolStyle::kPythonic: {
      if (mark == kBare) return std::make_unique<PythonCalls>("");
      return std::make_unique<PythonCalls>(mark == 0 ? "<|python_end|>" : "<|tool_call_end|>");
    }
    case ToolStyle::kDeepseek: return std::make_unique<DeepseekCalls>(/*in_call=*/mark == 1);
    case ToolStyle::kXml: return std::make_unique<XmlCalls>(/*in_function=*/mark == 1);
  }
  return nullptr;
}

void ToolSplit::take(char byte, Parsed& parsed) {
  out_ = &parsed;
  if (reader_) {
    take_call(byte);
  } else {
    take_text(byte);
  }
}

/// Llama's and the Pythonic calls may stand for the whole answer, without a mark.
bool ToolSplit::begins_bare(char byte) const {
  if (has_content_ || calls_begun_ > 0 || open_.is_holding()) return false;
  if (syntax_.style == ToolStyle::kLlama) return byte == '{';
  return syntax_.style == ToolStyle::kPythonic && byte == '[';
}

void ToolSplit::take_text(char byte) {
  if (begins_bare(byte)) {
    reader_ = reader_for(kBare);
    follows_call_ = false;
    return take_call(byte);
  }
  if (open_.empty()) return put_content(byte);
  std::string plain;
  const auto mark = open_.take(byte, plain);
  for (const char part : plain) put_content(part);
  if (!mark) return;
  reader_ = reader_for(*mark);
  follows_call_ = false;
  raw_ = open_.mark(*mark);
}

void ToolSplit::take_call(char byte) {
  const Step step = reader_->take(byte, *this);
  if (step == Step::kMore) {
    if (certain_) return;
    raw_.push_back(byte);
    if (raw_.size() <= kHeldBytesMax) return;
    reader_.reset();
    return put_raw();
  }
  reader_.reset();
  if (step == Step::kBroken && !std::exchange(certain_, false)) put_raw();
  certain_ = false;
  raw_.clear();
  if (step != Step::kDone) take_text(byte);
}

/// The bytes of a call that was none.
void ToolSplit::put_raw() {
  for (const char part : std::exchange(raw_, {})) put_content(part);
}

void ToolSplit::put_content(char byte) {
  if (is_blank(byte)) {
    blanks_.push_back(byte);
    return;
  }
  // White space around calls that come before any text is nobody's.
  if (calls_begun_ > 0 && !has_content_) blanks_.clear();
  has_content_ = true;
  out_->content += std::exchange(blanks_, {});
  out_->content.push_back(byte);
}

void ToolSplit::end(Parsed& parsed) {
  out_ = &parsed;
  if (reader_) {
    if (reader_->end(*this) && !certain_) put_raw();
    reader_.reset();
  }
  for (const char part : open_.release()) put_content(part);
  if (calls_begun_ == 0) out_->content += std::exchange(blanks_, {});
}

const Tool* ToolSplit::tool(std::string_view name) const {
  return calls_begun_ < kCallsMax ? find_tool(*tools_, name) : nullptr;
}

void ToolSplit::begin(std::string_view before) {
  if (follows_call_) raw_ = before;
}

void ToolSplit::announce(std::string_view name) {
  certain_ = true;
  raw_.clear();
  out_->call(calls_begun_++).name = name;
}

void ToolSplit::arguments(std::string_view text) { out_->call(calls_begun_ - 1).arguments += text; }

void ToolSplit::complete() {
  certain_ = false;
  follows_call_ = true;
  ++calls_completed_;
}

void ToolSplit::text(std::string_view text) {
  for (const char part : text) put_content(part);
}

}  // namespace kantha::dialect
