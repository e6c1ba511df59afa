#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "base/digest.h"
#include "engine/text/tokenizer.h"
#include "tests/engine/text/generated_texts.h"
#include "tests/engine/text/text_vectors.h"

namespace kantha::text {

/// Encodes 20,000 generated texts and compares the ids with the reference's, a hundred at a time.
inline void expect_reference_ids(const Tokenizer& tokenizer, const std::string& name) {
  const OrderedJson golden = read_vectors("encoding_digests.json");
  std::istringstream digests(golden[name].get<std::string>());
  std::uint64_t number = 0;
  std::size_t wrong = 0;
  std::string first_wrong;
  for (std::string digest; digests >> digest;) {
    std::string lines;
    for (int i = 0; i < 100; ++i, ++number) {
      const char* blank = "";
      for (const TokenId id : tokenizer.encode(GeneratedText(number).make(), false)) {
        lines += blank + std::to_string(id);
        blank = " ";
      }
      lines += "\n";
    }
    if (sha256_hex(lines).substr(0, 8) == digest) continue;
    ++wrong;
    if (first_wrong.empty()) first_wrong = std::to_string(number - 100) + ":\n" + lines;
  }
  EXPECT_EQ(number, 20'000u);
  EXPECT_EQ(wrong, 0u) << name << ": hundreds that differ; ids from text " << first_wrong;
}

}  // namespace kantha::text
