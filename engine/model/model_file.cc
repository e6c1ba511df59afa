#include "engine/model/model_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
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

/// The whole pages of a part of the file, the neighbours' shares included; none where it is not of
/// this file.
std::span<std::byte> ModelFile::pages_of(std::span<const std::byte> part) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes_.data());
  auto first = reinterpret_cast<std::uintptr_t>(part.data());
  const auto last = first + part.size();
  if (part.empty() || first < begin || last > begin + bytes_.size()) return {};
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  first -= (first - begin) % page;
  return {reinterpret_cast<std::byte*>(first), last - first};
}

void ModelFile::fetch(std::span<const std::byte> wanted) const {
  const auto pages = pages_of(wanted);
  if (pages.empty()) return;
  // All reads at once where the file system can, then wait for them.
  (void)::madvise(pages.data(), pages.size(), MADV_WILLNEED);
#ifdef MADV_POPULATE_READ
  if (::madvise(pages.data(), pages.size(), MADV_POPULATE_READ) == 0) return;
#endif
  constexpr std::size_t kStep = 4096;
  std::byte seen{};
  for (std::size_t at = 0; at < pages.size(); at += kStep) seen |= pages[at];
  volatile std::byte sink = seen;
  (void)sink;
}

void ModelFile::release(std::span<const std::byte> read) const {
  // A mapping of a file loses nothing by that.
  const auto pages = pages_of(read);
  if (!pages.empty()) (void)::madvise(pages.data(), pages.size(), MADV_DONTNEED);
}

ModelFile::~ModelFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace kantha::model
