#include "operator/local/places.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "operator/serving/types.h"

namespace kantha::local {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> absolute(const Environment& environment, const char* name) {
  const auto value = environment(name);
  return value && value->starts_with('/') ? value : std::nullopt;
}

std::string own_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string(".") : self.parent_path().string();
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Result<Places> find_places(const Environment& environment) {
  std::optional<std::string> cache = absolute(environment, "XDG_CACHE_HOME");
  if (const auto home = absolute(environment, "HOME"); !cache && home) cache = *home + "/.cache";
  const std::optional<std::string> runtime = absolute(environment, "XDG_RUNTIME_DIR");
  if (!cache) {
    return Error{Code::kFailedPrecondition,
                 "neither HOME nor XDG_CACHE_HOME is set to an absolute path"};
  }
  Places out;
  out.run_root = runtime ? *runtime + "/kantha" : *cache + "/kantha/run";
  out.model_cache = *cache + "/kantha/models";
  out.bin_dir = environment("KANTHA_BIN_DIR").value_or(own_folder());
  return out;
}

std::string fetch_cache_of(const Places& places) { return places.model_cache + "/fetched"; }

Result<std::string> find_model(const std::string& host_path, const std::string& yaml_file,
                               const Places& places) {
  std::vector<fs::path> tried;
  if (fs::path(host_path).is_absolute()) {
    tried = {host_path};
  } else {
    tried = {fs::path(yaml_file).parent_path() / host_path,
             fs::path(places.model_cache) / host_path};
  }
  std::string list;
  for (const fs::path& path : tried) {
    std::error_code error;
    const fs::path full = fs::absolute(path, error).lexically_normal();
    if (fs::exists(full, error)) return full.string();
    list += (list.empty() ? "" : ", ") + full.string();
  }
  Error out = not_found("no model file at " + list + "; scripts/fetch-model fetches the example's");
  out.field = "spec.model.source.hostPath";
  return out;
}

Result<std::string> find_golden_prompts(const std::string& config_map,
                                        const std::string& yaml_file) {
  if (config_map.empty()) return std::string();
  std::error_code error;
  const fs::path path =
      fs::absolute(fs::path(yaml_file).parent_path() / config_map / serving::kGoldenFile, error)
          .lexically_normal();
  if (fs::exists(path, error)) return path.string();
  Error out = not_found("no golden prompts at " + path.string());
  out.field = "spec.rollout.gates.goldenPrompts.configMap";
  return out;
}

Result<std::string> find_api_keys(const std::string& auth_secret, const std::string& yaml_file) {
  if (auth_secret.empty()) return std::string();
  std::error_code error;
  const fs::path path =
      fs::absolute(fs::path(yaml_file).parent_path() / auth_secret / serving::kApiKeysFile, error)
          .lexically_normal();
  if (fs::exists(path, error)) return path.string();
  Error out = not_found("no API keys at " + path.string() +
                        "; `kantha key new` makes one and the file's entry for it");
  out.field = "spec.gateway.authSecret";
  return out;
}

}  // namespace kantha::local
