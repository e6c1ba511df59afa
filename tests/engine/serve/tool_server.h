#pragma once

#include <string>
#include <vector>

#include "tests/engine/serve/served.h"
#include "tests/fake/byte_vocabulary.h"

/// A server with a template that knows functions and reasoning.
namespace kantha::serve {

/// ChatML that shows functions and calls as Qwen's does, and opens the reasoning when asked to.
inline constexpr char kToolTemplate[] = R"({%- if tools %}<|im_start|>system
<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>
<tool_call>{"name": 1, "arguments": 2}</tool_call><|im_end|>
{% endif %}{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking %}<think>
{% endif %}{% endif %})";

/// A server whose model says one thing, from where it is resumed on.
struct ToolServer {
  explicit ToolServer(const std::string& output,
                      sched::FinishReason finish = sched::FinishReason::kStop)
      : served({.context_max = 2048, .chat_template = kToolTemplate}) {
    served.engine().on_submit([output, finish](const sched::GenerateSpec& spec) {
      std::vector<TokenId> tokens = fake::byte_tokens(output);
      tokens.erase(tokens.begin(),
                   tokens.begin() + static_cast<std::ptrdiff_t>(spec.resumed.size()));
      return fake::FakeReply{.tokens = std::move(tokens), .finish = finish};
    });
  }
  Json whole(const Json& body) {
    return Json::parse(served.post("/v1/chat/completions", body).body);
  }
  Served served;
};

/// The text of the last prompt, control tokens left out.
inline std::string prompt_of(Served& served) {
  std::string text;
  const sched::GenerateSpec last = served.engine().submitted().back();
  for (const TokenId id : last.prompt) {
    if (id < 256) text.push_back(static_cast<char>(id));
  }
  return text;
}

}  // namespace kantha::serve
