#include "base/version.h"

namespace kantha {

std::string_view version() { return KANTHA_VERSION; }

}  // namespace kantha
