#include "cli/screen.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

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
  EXPECT_EQ(out, "a\nb\n\r\x1b[2A\x1b[Jc\nd\n\r\x1b[2A\x1b[Jhello\nc\nd\n\r\x1b[2A\x1b[J");
}

TEST(Screen, DrawsNoMoreThanTheTerminalCanTakeBack) {
  int master = -1;
  int slave = -1;
  winsize size{.ws_row = 3, .ws_col = 4, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  std::FILE* file = fdopen(slave, "w");
  Screen screen(file, true);
  screen.show("abcdef\nb\nc\nd\n");
  screen.show("x\n");
  const std::string drawn = "abcd\r\nb\r\n\r\x1b[2A\x1b[Jx\r\n";
  // A terminal hands out what has come so far, which may be a part.
  std::string text;
  std::array<char, 256> piece{};
  pollfd readable{.fd = master, .events = POLLIN, .revents = 0};
  while (text.size() < drawn.size() && poll(&readable, 1, 5000) == 1) {
    const ssize_t count = read(master, piece.data(), piece.size());
    if (count <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(text, drawn);
  std::fclose(file);
  close(master);
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
