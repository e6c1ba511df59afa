#pragma once

#include <string>

#include "base/result.h"

namespace CLI {
class App;
}

/// The command line of a program; CLI11's exceptions end here.
namespace kantha {

/// Reads the arguments into what the flags of `app` point at. Where help is asked for, it is in
/// `help`, which is empty otherwise, and nothing else is of use then. kInvalidArgument says what is
/// wrong.
Status parse_command_line(CLI::App& app, int argc, const char* const* argv, std::string& help);

}  // namespace kantha
