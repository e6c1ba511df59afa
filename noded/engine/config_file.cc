#include "noded/engine/config_file.h"

#include <filesystem>

#include "base/digest.h"
#include "base/json.h"
#include "base/whole_file.h"

namespace kantha::noded {
namespace {

namespace fs = std::filesystem;

Result<std::string> read_config(const std::string& path) {
  TRY(std::string text, read_whole_file(path, kConfigBytesMax));
  if (Status fine = check_config_text(text); !fine.ok()) {
    return std::move(fine).error().with_context(path);
  }
  return text;
}

bool is_younger(const std::string& path, const std::string& other) {
  std::error_code error;
  const auto at = fs::last_write_time(path, error);
  if (error) return false;
  const auto other_at = fs::last_write_time(other, error);
  return !error && at > other_at;
}

}  // namespace

Status check_config_text(std::string_view text) {
  if (text.size() > kConfigBytesMax) {
    return Error{Code::kOutOfRange, "the engine configuration: at most 1 MiB, got " +
                                        std::to_string(text.size()) + " bytes"};
  }
  Result<Json> json = parse_json(text, {.bytes_max = kConfigBytesMax});
  if (!json.ok()) return std::move(json).error().with_context("the engine configuration");
  if (json->is_object()) return ok_status();
  return invalid_argument("the engine configuration: expected a JSON object");
}

Result<std::string> adopt_config(const std::string& source, const std::string& target) {
  const Result<std::string> present = read_config(target);
  Result<std::string> told = read_config(source);
  const bool keep = present.ok() && (!told.ok() || *present == *told || is_younger(target, source));
  if (keep) return sha256_hex(*present);
  if (!told.ok()) return std::move(told).error();
  TRY_OK(replace_whole_file(target, *told));
  return sha256_hex(*told);
}

}  // namespace kantha::noded
