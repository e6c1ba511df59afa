#include "base/digest.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace kantha {
namespace {

std::string hex_of(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

struct Sha256::Body {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free};
};

Sha256::Sha256() : body_(std::make_unique<Body>()) {
  CHECK(body_->context != nullptr, "OpenSSL has no memory");
  CHECK(EVP_DigestInit_ex(body_->context.get(), EVP_sha256(), nullptr) == 1,
        "OpenSSL has no SHA-256");
}

Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  CHECK(EVP_DigestUpdate(body_->context.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(body_->context.get(), digest.data(), &size) == 1);
  return hex_of({digest.data(), size});
}

std::string hmac_sha256_hex(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes,
                                   text.size(), digest.data(), &size);
  CHECK(made != nullptr, "OpenSSL has no HMAC");
  return hex_of({digest.data(), size});
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hex();
}

Result<std::string> sha256_hex_of_file(const std::string& path) {
  const OpenFile file(path);
  if (file.fd() < 0) {
    const int reason = errno;
    std::string message = path + ": " + std::strerror(reason);
    return reason == ENOENT ? not_found(std::move(message)) : internal_error(std::move(message));
  }
  Sha256 digest;
  std::vector<char> chunk(std::size_t{1} << 20);
  for (;;) {
    const ssize_t count = ::read(file.fd(), chunk.data(), chunk.size());
    if (count == 0) return digest.hex();
    if (count > 0) {
      digest.add({chunk.data(), static_cast<std::size_t>(count)});
    } else if (errno != EINTR) {
      return internal_error(path + ": " + std::strerror(errno));
    }
  }
}

}  // namespace kantha
