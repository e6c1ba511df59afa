#pragma once

#include <string_view>

namespace kantha {

/// The version of this build, "0.1.0", from the project line of the top CMakeLists.txt. Any thread.
std::string_view version();

}  // namespace kantha
