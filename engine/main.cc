#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "engine/engine_boot.h"
#include "engine/serve/command_line.h"
#include "engine/serve/engine_parent.h"
#include "engine/serve/engine_server.h"

/// kantha-engine: one model, one server; or the parent that keeps one running.
int main(int argc, char** argv) {
  using namespace kantha;
  watch_lifeline();
  set_log_program("engine");
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  auto line = serve::read_command_line(arguments);
  if (!line.ok()) {
    std::fprintf(stderr, "kantha-engine: %s\n", line.error().message.c_str());
    return serve::kExitConfig;
  }
  if (!line->print.empty()) {
    std::fputs(line->print.c_str(), stdout);
    return serve::kExitOk;
  }
  if (line->parent) return serve::EngineParent(*line->parent, system_clock()).run();
  const serve::EngineConfig config = line->config;
  LogLevel level = LogLevel::kInfo;
  if (parse_log_level(config.log_level, level)) set_log_level(level);
  const Clock& clock = system_clock();
  serve::EngineServer server(
      config,
      [&config, &clock](serve::PhaseBoard& board) {
        return serve::boot_engine(config, board, clock);
      },
      clock);
  if (const Status listening = server.listen(); !listening.ok()) {
    std::fprintf(stderr, "kantha-engine: %s\n", listening.error().message.c_str());
    return serve::kExitConfig;
  }
  server.handle_signals();
  return server.run();
}
