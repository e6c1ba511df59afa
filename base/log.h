#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

/// Logs: a constant message and key=value pairs, one line each, to stderr.
///   log_info("engine ready", {{"pod", name}, {"load_ms", 312}});
/// Values with blanks, quotes or control characters are quoted and escaped. Secrets and prompt text
/// are never values. An error is logged once, where it is handled. Any thread.
namespace kantha {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarn, kError };

/// One key=value pair; any arithmetic type, string or bool.
struct LogField {
  template <class T>
  LogField(std::string_view key, const T& value) : key(key), text(render(value)) {}

  std::string_view key;
  std::string text;

 private:
  static std::string render(std::string_view value);
  static std::string render(const char* value) { return render(std::string_view(value)); }
  static std::string render(const std::string& value) { return render(std::string_view(value)); }
  static std::string render(bool value) { return value ? "true" : "false"; }
  template <class T>
    requires std::is_arithmetic_v<T>
  static std::string render(T value) {
    return std::to_string(value);
  }
};

using LogFields = std::initializer_list<LogField>;

/// Lines below this level are dropped. Default kInfo.
void set_log_level(LogLevel level);
/// Accepts debug, info, warn, error; false for anything else.
bool parse_log_level(std::string_view text, LogLevel& level);
/// Names the program in every line ("engine", "noded"); call once in main.
void set_log_program(std::string_view program);

void log_debug(std::string_view message, LogFields fields = {});
void log_info(std::string_view message, LogFields fields = {});
void log_warn(std::string_view message, LogFields fields = {});
void log_error(std::string_view message, LogFields fields = {});

}  // namespace kantha
