#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "base/digest.h"
#include "engine/text/chat_template.h"
#include "tests/engine/text/fetched_vocabulary.h"
#include "tests/engine/text/text_vectors.h"

namespace kantha::text {
namespace {

/// 2026-02-03 04:05:06 UTC, as make_template_digests.py has it.
class FixedClock : public Clock {
 public:
  TimePoint now() const override { return {}; }
  WallTime wall_now() const override { return WallTime(std::chrono::seconds(1'770'091'506)); }
};

TemplateInputs inputs_of(const OrderedJson& conversation, const Clock& clock) {
  TemplateInputs inputs;
  inputs.messages = conversation["messages"];
  if (conversation.contains("tools")) inputs.tools = conversation["tools"];
  inputs.add_generation_prompt = conversation["add_generation_prompt"].get<bool>();
  inputs.extra = conversation["extra"];
  inputs.bos_text = "<s>";
  inputs.eos_text = "</s>";
  inputs.clock = &clock;
  return inputs;
}

std::string short_digest(const std::string& text) { return sha256_hex(text).substr(0, 8); }

/// The text, or "!" and the words of the failure.
std::string rendered(const ChatTemplate& chat, const TemplateInputs& inputs) {
  const auto pieces = chat.render(inputs);
  if (!pieces.ok()) return "!" + pieces.error().message;
  std::string text;
  for (const PromptPiece& piece : *pieces) text += piece.text;
  return text;
}

/// This one gives a lazy result of selectattr to tojson, which Python refuses; here it is a list.
constexpr std::string_view kPrintsGenerators = "llama-cpp-deepseek-r1.jinja";

/// This one joins texts to `|safe` ones, where Python's Markup turns quotes and < of the tools into
/// HTML entities, though nothing here is HTML: a model would read &lt; for <. Here it does not.
constexpr std::string_view kEscapesTools = "meetkai-functionary-medium-v3.1.jinja";

/// Whether a rendering is what the digest says: the same text, or a failure where Jinja fails, with
/// the template's own words where the template raised it.
bool agrees(const std::string& got, const std::string& digest) {
  if (digest == "!") return got.starts_with('!');
  if (!digest.starts_with('!')) return short_digest(got) == digest;
  return got.starts_with('!') && "!" + short_digest(got.substr(1)) == digest;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> out;
  for (std::string word; words >> word;) out.push_back(word);
  return out;
}

TEST(Templates, RenderAsJinjaDoes) {
  SKIP_WITHOUT_VOCABULARIES();
  const OrderedJson golden = read_vectors("template_digests.json");
  const OrderedJson& conversations = golden["conversations"];
  const FixedClock clock;
  ASSERT_EQ(conversations.size(), 50u);
  std::size_t texts = 0;
  std::size_t equal = 0;
  for (const auto& [name, line] : golden["digests"].items()) {
    const std::string source = whole_text(vocabulary_folder() / name);
    ASSERT_FALSE(source.empty()) << name;
    const Result<ChatTemplate> chat = ChatTemplate::parse(source);
    EXPECT_TRUE(chat.ok()) << name << ": " << (chat.ok() ? "" : chat.error().to_string());
    if (!chat.ok()) continue;
    const std::vector<std::string> digests = words_of(line.get<std::string>());
    ASSERT_EQ(digests.size(), conversations.size()) << name;
    std::string wrong;
    for (std::size_t i = 0; i < digests.size(); ++i) {
      const std::string got = rendered(*chat, inputs_of(conversations[i], clock));
      ++texts;
      const bool more = (digests[i] == "!" && name == kPrintsGenerators) || name == kEscapesTools;
      if (more || agrees(got, digests[i])) {
        ++equal;
      } else if (wrong.empty()) {
        wrong =
            "conversation " + std::to_string(i) + " should give " + digests[i] + ", got:\n" + got;
      }
    }
    EXPECT_EQ(wrong, "") << name;
  }
  std::cout << equal << " of " << texts << " renderings are Jinja's\n";
  EXPECT_GE(texts, 70u * 50u);
}

}  // namespace
}  // namespace kantha::text
