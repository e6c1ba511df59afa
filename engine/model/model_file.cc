#include "engine/model/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kantha::model {
namespace {

/// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

Error open_error(int error) {
  const std::string what = fmt::format("cannot open: {}", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return not_found(what);
  if (error == EACCES || error == EPERM) return {Code::kPermissionDenied, what};
  return unavailable(what);
}

Result<std::size_t> regular_size(int descriptor) {
  struct stat facts = {};
  if (::fstat(descriptor, &facts) != 0) {
    return unavailable(fmt::format("cannot stat: {}", std::strerror(errno)));
  }
  if (S_ISDIR(facts.st_mode)) return invalid_argument("is a directory, expected a model file");
  if (!S_ISREG(facts.st_mode)) return invalid_argument("is not a regular file");
  return static_cast<std::size_t>(facts.st_size);
}

}  // namespace

Result<std::shared_ptr<const ModelFile>> ModelFile::open(const std::string& path) {
  // O_NONBLOCK keeps a FIFO at this path from blocking us; it means nothing for regular files.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return open_error(errno);
  TRY(const auto size, regular_size(file.number()));
  if (size == 0) return std::shared_ptr<const ModelFile>(new ModelFile({}));

  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) {
    return unavailable(fmt::format("cannot map {} bytes: {}", size, std::strerror(errno)));
  }
  std::shared_ptr<const ModelFile> mapped(
      new ModelFile({static_cast<const std::byte*>(address), size}));
  TRY(const auto size_now, regular_size(file.number()));
  if (size_now != size) {
    return data_loss(
        fmt::format("its size changed from {} to {} while it was opened", size, size_now));
  }
  return mapped;
}

ModelFile::~ModelFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace kantha::model
