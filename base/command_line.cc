#include "base/command_line.h"

#include <CLI/CLI.hpp>

namespace kantha {

Status parse_command_line(CLI::App& app, int argc, const char* const* argv, std::string& help) {
  help.clear();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    // That of a subcommand, where one was named.
    help = app.help();
  } catch (const CLI::ParseError& error) {
    return invalid_argument(error.what());
  }
  return ok_status();
}

}  // namespace kantha
