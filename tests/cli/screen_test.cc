#include "cli/screen.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>

namespace kantha::cli {
namespace {

/// What a screen wrote to its file.
std::string written(bool live, const std::function<void(Screen&)>& use) {
  std::FILE* file = std::tmpfile();
  Screen screen(file, live);
  use(screen);
  std::rewind(file);
  std::array<char, 4096> text{};
  const std::size_t count = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return {text.data(), count};
}

TEST(Screen, RedrawsItsTableInPlaceBelowWhatWasSaid) {
  const std::string out = written(true, [](Screen& screen) {
    screen.show("a\nb\n");
    screen.show("c\nd\n");
    screen.say("hello");
    screen.clear();
  });
  EXPECT_EQ(out, "a\nb\n\x1b[2A\x1b[Jc\nd\n\x1b[2A\x1b[Jhello\nc\nd\n\x1b[2A\x1b[J");
}

TEST(Screen, IsPlainLinesWhereNothingCanBeRedrawn) {
  const std::string out = written(false, [](Screen& screen) {
    screen.show("a\nb\n");
    screen.say("hello");
    screen.clear();
  });
  EXPECT_EQ(out, "hello\n");
}

}  // namespace
}  // namespace kantha::cli
