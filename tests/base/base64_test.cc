#include "base/base64.h"

#include <gtest/gtest.h>

namespace kantha {
namespace {

TEST(Base64, DecodesTheVectorsOfItsStandard) {
  const struct {
    const char* text;
    const char* bytes;
  } cases[] = {{"", ""},
               {"Zg==", "f"},
               {"Zm8=", "fo"},
               {"Zm9v", "foo"},
               {"Zm9vYg==", "foob"},
               {"Zm9vYmFy", "foobar"},
               {"Zm9v\nYmFy\r\n", "foobar"},
               {" +/+/ ", "\xfb\xff\xbf"}};
  for (const auto& each : cases) EXPECT_EQ(*decode_base64(each.text), each.bytes) << each.text;
  EXPECT_EQ(decode_base64("AAAA")->size(), 3u);
}

TEST(Base64, EncodesTheVectorsOfItsStandard) {
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(encode_base64("f"), "Zg==");
  EXPECT_EQ(encode_base64("fo"), "Zm8=");
  EXPECT_EQ(encode_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encode_base64("\xfb\xff\xbf"), "+/+/");
}

TEST(Base64, RefusesTheRest) {
  for (const char* text : {"Z", "Zg", "Zg=", "====", "Zg==Zg==", "Zm9v-_-_", "Zm9v\x01", "=m9v"}) {
    EXPECT_FALSE(decode_base64(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kantha
