#include "operator/local/spec_file.h"

namespace kantha::local {

SpecFile::Signature SpecFile::signature() const {
  struct stat status{};
  if (stat(path_.c_str(), &status) != 0) return {};
  return {true, status.st_dev, status.st_ino, status.st_size,
          status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
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
  return read();
}

}  // namespace kantha::local
