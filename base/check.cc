#include "base/check.h"

#include <cstdio>

namespace kantha {

void check_failed(const char* file, int line, const char* expression, const char* note) {
  std::fprintf(stderr, "CHECK failed at %s:%d: %s %s\n", file, line, expression, note);
  std::abort();
}

}  // namespace kantha
