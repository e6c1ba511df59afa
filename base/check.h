#pragma once

#include <cstdlib>

/// CHECK(condition, "what was expected") ends the process when a belief of ours is wrong.
/// It is for bugs only and stays on in release builds; anything the outside world can cause is a
/// Result instead. Any thread.
namespace kantha {

/// Prints file, line, expression and the note to stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               const char* note);

}  // namespace kantha

#define KANTHA_CHECK_1(condition) KANTHA_CHECK_2(condition, "")
#define KANTHA_CHECK_2(condition, note)                             \
  do {                                                              \
    if (!(condition)) [[unlikely]]                                  \
      ::kantha::check_failed(__FILE__, __LINE__, #condition, note); \
  } while (false)
#define KANTHA_CHECK_PICK(a, b, chosen, ...) chosen
#define CHECK(...) KANTHA_CHECK_PICK(__VA_ARGS__, KANTHA_CHECK_2, KANTHA_CHECK_1, )(__VA_ARGS__)
