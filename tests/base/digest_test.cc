#include "base/digest.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace kantha {
namespace {

// Vectors of FIPS 180-2, appendix B.
TEST(Sha256, GivesThePublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const std::string path = testing::TempDir() + "kantha_digest_test.bin";
  const std::string content(3'000'000, 'x');  // more than one read
  std::ofstream(path, std::ios::binary) << content;
  EXPECT_EQ(*sha256_hex_of_file(path), sha256_hex(content));
  std::filesystem::remove(path);
}

TEST(Sha256, AMissingFileIsNotFoundAndNamed) {
  const auto result = sha256_hex_of_file("/nonexistent/model.gguf");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kNotFound);
  EXPECT_EQ(result.error().message, "/nonexistent/model.gguf: No such file or directory");
}

// RFC 4231, test cases 1 and 2.
TEST(HmacSha256, GivesThePublishedVectors) {
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(SameDigest, ComparesWholeTexts) {
  EXPECT_TRUE(equal_in_constant_time("ab", "ab"));
  EXPECT_FALSE(equal_in_constant_time("ab", "ac"));
  EXPECT_FALSE(equal_in_constant_time("ab", "abc"));
}

TEST(Sha256, AFolderIsAnError) { EXPECT_FALSE(sha256_hex_of_file("/").ok()); }

}  // namespace
}  // namespace kantha
