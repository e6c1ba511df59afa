#include "base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "base/clock.h"

namespace kantha {
namespace {

std::atomic<LogLevel> least_level{LogLevel::kInfo};

/// The program's name; set once, but tests and threads may log while it is set.
struct ProgramName {
  std::mutex mutex;
  std::string text = "kantha";
};

ProgramName& program_name() {
  // Never destroyed: a thread may still log while the process ends.
  static auto* const name = new ProgramName;
  return *name;
}

std::string_view level_text(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "DEBUG";
    case LogLevel::kInfo: return "INFO";
    case LogLevel::kWarn: return "WARN";
    case LogLevel::kError: return "ERROR";
  }
  return "ERROR";
}

/// "2026-11-29T20:15:03.123Z".
std::string timestamp() {
  const auto since_epoch = system_clock().wall_now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date;
  const std::size_t count = std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction;
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(ms % 1000));
  return std::string(date.data(), count) + fraction.data();
}

/// One write per line keeps the lines of several processes whole. What cannot be written is lost:
/// a program must not fail because its log does.
void write_line(const std::string& line) {
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(STDERR_FILENO, line.data() + written, line.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return;
    }
  }
}

void log(LogLevel level, std::string_view message, LogFields fields) {
  if (level < least_level.load(std::memory_order_relaxed)) return;
  std::string line = timestamp();
  line += ' ';
  line += level_text(level);
  line += ' ';
  {
    ProgramName& program = program_name();
    const std::lock_guard lock(program.mutex);
    line += program.text;
  }
  line += ' ';
  line += message;
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    line += field.text;
  }
  line += '\n';
  write_line(line);
}

bool needs_quotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte == 0x7f || c == '"' || c == '\\' || c == '=') return true;
  }
  return false;
}

}  // namespace

std::string LogField::render(std::string_view value) {
  if (!needs_quotes(value)) return std::string(value);
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> escape;
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned int>(byte));
      text += escape.data();
    } else {
      text += c;
    }
  }
  text += '"';
  return text;
}

void set_log_level(LogLevel level) { least_level.store(level, std::memory_order_relaxed); }

bool parse_log_level(std::string_view text, LogLevel& level) {
  if (text == "debug") {
    level = LogLevel::kDebug;
  } else if (text == "info") {
    level = LogLevel::kInfo;
  } else if (text == "warn") {
    level = LogLevel::kWarn;
  } else if (text == "error") {
    level = LogLevel::kError;
  } else {
    return false;
  }
  return true;
}

void set_log_program(std::string_view program) {
  ProgramName& name = program_name();
  const std::lock_guard lock(name.mutex);
  name.text = program;
}

void log_debug(std::string_view message, LogFields fields) {
  log(LogLevel::kDebug, message, fields);
}
void log_info(std::string_view message, LogFields fields) { log(LogLevel::kInfo, message, fields); }
void log_warn(std::string_view message, LogFields fields) { log(LogLevel::kWarn, message, fields); }
void log_error(std::string_view message, LogFields fields) {
  log(LogLevel::kError, message, fields);
}

}  // namespace kantha
