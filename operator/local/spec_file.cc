#include "operator/local/spec_file.h"

namespace kantha::local {

SpecFile::Signature SpecFile::signature() const {
  struct stat status{};
  if (stat(path_.c_str(), &status) != 0) return {};
  // Of folders, pipes and devices only the identity counts: they change without an edit.
  if (!S_ISREG(status.st_mode)) return {true, false, status.st_dev, status.st_ino, 0, 0};
  return {true,           true,
          status.st_dev,  status.st_ino,
          status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

serving::ModelServingFile SpecFile::read() {
  // The signature is taken first: an edit between the two is seen at the next look.
  read_ = seen_ = signature();
  return serving::read_model_serving_file(path_);
}

std::optional<serving::ModelServingFile> SpecFile::look() {
  const Signature now = signature();
  const bool steady = now == seen_;
  seen_ = now;
  if (!steady || now == read_) return std::nullopt;
  if (!now.exists || now.is_regular) return read();
  read_ = now;
  return serving::ModelServingFile{
      std::nullopt, {{{"", "is no regular file any more; expected a YAML file"}, path_, 0}}};
}

}  // namespace kantha::local
