#include "operator/local/rollout_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "base/whole_file.h"

namespace kantha::local {
namespace {

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;
constexpr mode_t kOwnerOnly = 0700;

}  // namespace

RolloutFile::RolloutFile(const std::string& root, const std::string& name)
    : folder_(root + "/.rollouts"), path_(folder_ + "/" + name + ".json") {}

serving::RolloutState RolloutFile::read() const {
  const Result<std::string> text = read_whole_file(path_, kFileBytesMax);
  if (!text.ok()) return {};
  const Result<Json> json = parse_json(*text);
  if (!json.ok()) return {};
  known_ = *text;
  return serving::rollout_state_from_json(*json);
}

Status RolloutFile::write(const serving::RolloutState& state) {
  const std::string text = dump_json(serving::to_json(state));
  if (text == known_) return ok_status();
  if (mkdir(folder_.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    return internal_error("cannot make " + folder_ + ": " + std::strerror(errno));
  }
  TRY_OK(replace_whole_file(path_, text));
  known_ = text;
  return ok_status();
}

}  // namespace kantha::local
