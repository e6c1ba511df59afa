#include <gtest/gtest.h>

#include <string>

#include "engine/text/chat_template.h"
#include "tests/engine/text/text_vectors.h"

namespace kantha::text {
namespace {

TemplateInputs inputs_of(const OrderedJson& conversation) {
  TemplateInputs inputs;
  inputs.messages = conversation["messages"];
  if (conversation.contains("tools")) inputs.tools = conversation["tools"];
  if (conversation.contains("add_generation_prompt")) {
    inputs.add_generation_prompt = conversation["add_generation_prompt"].get<bool>();
  }
  inputs.bos_text = "<s>";
  inputs.eos_text = "</s>";
  return inputs;
}

Result<std::string> rendered(const std::string& source, const TemplateInputs& inputs) {
  TRY(const ChatTemplate chat, ChatTemplate::parse(source));
  TRY(const std::vector<PromptPiece> pieces, chat.render(inputs));
  std::string text;
  for (const PromptPiece& piece : pieces) text += piece.text;
  return text;
}

TEST(ChatTemplateVectors, RendersAndFailsAsJinjaDoes) {
  const OrderedJson vectors = read_vectors("template_vectors.json");
  std::size_t texts = 0;
  std::size_t errors = 0;
  for (const OrderedJson& row : vectors["rows"]) {
    const std::string source =
        row.contains("source")
            ? row["source"].get<std::string>()
            : vectors["templates"][row["template"].get<std::string>()].get<std::string>();
    const OrderedJson& conversation =
        vectors["conversations"][row["conversation"].get<std::string>()];
    const Result<std::string> got = rendered(source, inputs_of(conversation));
    const std::string where =
        row.value("template", source) + " / " + row["conversation"].get<std::string>();
    if (row.contains("text")) {
      ++texts;
      EXPECT_TRUE(got.ok()) << where << ": " << (got.ok() ? "" : got.error().to_string());
      if (got.ok()) EXPECT_EQ(got.value(), row["text"].get<std::string>()) << where;
      continue;
    }
    ++errors;
    EXPECT_FALSE(got.ok()) << where << ": " << (got.ok() ? got.value() : "");
    if (!got.ok() && row["error"].is_string()) {
      EXPECT_EQ(got.error().message, row["error"].get<std::string>()) << where;
    }
  }
  EXPECT_GT(texts, 90u);
  EXPECT_GT(errors, 50u);
}

}  // namespace
}  // namespace kantha::text
