#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "engine/text/tokenizer.h"

/// A model's chat template: a Jinja subset with transformers' settings (trim_blocks,
/// lstrip_blocks), no I/O, and bounds on steps, depth and output. Immutable after parse; any
/// thread.
namespace kantha::text {

struct TemplateLimits {
  std::size_t source_bytes_max = 1u << 20;
  std::size_t steps_max = 1'000'000;
  std::size_t output_bytes_max = 4u << 20;
  std::size_t depth_max = 64;
};

/// What a template sees. Strings inside `messages`, `tools` and `extra` (keys too) are marked as
/// input wherever they go.
struct TemplateInputs {
  OrderedJson messages;         ///< array of {role, content, …}
  OrderedJson tools = nullptr;  ///< array or null
  bool add_generation_prompt = true;
  OrderedJson extra = OrderedJson::object();  ///< further variables
  std::string bos_text = {};
  std::string eos_text = {};
  const Clock* clock = nullptr;  ///< for strftime_now (UTC); null: the machine's
};

class ChatTemplate {
 public:
  /// kInvalidArgument with line and what was expected; kUnimplemented names the construct.
  static Result<ChatTemplate> parse(std::string_view source, const TemplateLimits& limits = {});
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  /// The prompt in pieces. raise_exception and undefined operations are kInvalidArgument with the
  /// template's own words; a limit is kOutOfRange.
  Result<std::vector<PromptPiece>> render(const TemplateInputs& inputs) const;

 private:
  struct Body;
  explicit ChatTemplate(std::shared_ptr<const Body> body);
  std::shared_ptr<const Body> body_;
};

}  // namespace kantha::text
