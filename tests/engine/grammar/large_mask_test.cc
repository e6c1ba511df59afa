#include <gtest/gtest.h>

#include "tests/engine/grammar/mask_times.h"
#include "tests/engine/text/fetched_vocabulary.h"

// Masks over a vocabulary of 262,144 tokens.
namespace kantha::grammar {
namespace {

TEST(LargeMasks, TakeMicroseconds) {
  using text::vocabulary_folder;
  SKIP_WITHOUT_VOCABULARIES();
  const auto tokenizer = text::read_tokenizer(text::vocabulary_folder() / "gemma-4.gguf");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  ASSERT_GE(tokenizer->size(), 262'144);
  expect_quick_masks(*tokenizer, /*answers=*/8, /*most_us=*/200);
}

}  // namespace
}  // namespace kantha::grammar
